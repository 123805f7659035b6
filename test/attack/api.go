// Paths and short names of what attacks use of the API server.
package main

import "cotrain.dev/apiclient"

const (
	trainer  = "/apis/trainer.kubeflow.org/v1alpha1"
	jobset   = "/apis/jobset.x-k8s.io/v1alpha2"
	podgroup = "/apis/scheduling.x-k8s.io/v1alpha1"
	rbac     = "/apis/rbac.authorization.k8s.io/v1"
	core     = "/api/v1"
	lease    = "/apis/coordination.k8s.io/v1/namespaces/" + operatorNamespace + "/leases/trainer.kubeflow.org"

	operatorNamespace = "kubeflow-system"
	jsonType          = apiclient.JSON
)

type (
	api    = apiclient.Client
	object = apiclient.Object
)

var (
	at     = apiclient.At
	text   = apiclient.Text
	nameOf = apiclient.NameOf
	codeOf = apiclient.CodeOf
	encode = apiclient.Encode
	until  = apiclient.Until
)

func uidOf(o object) string { return text(o, "metadata", "uid") }

// condition is the status of a condition: "True", "False", "Unknown", or nothing.
func condition(o object, kind string) (status, reason string) {
	for _, each := range apiclient.List(o, "status", "conditions") {
		if text(each, "type") == kind {
			return text(each, "status"), text(each, "reason")
		}
	}
	return "", ""
}
