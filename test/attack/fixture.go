// What is in the cluster before anything happens: the operator's roles and webhooks, namespaces, tenants, runtimes.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	mutating   = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/defaulter.trainer.kubeflow.org"
	validating = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/validator.trainer.kubeflow.org"

	validateJob = "/validate-trainer-kubeflow-org-v1alpha1-trainjob"
	mutateJob   = "/mutate-trainer-kubeflow-org-v1alpha1-trainjob"
)

func kubectl(input string, words ...string) (string, error) {
	run := exec.Command(os.Getenv("COTRAIN_TEST_KUBECTL"), words...)
	run.Stdin = strings.NewReader(input)
	out, err := run.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("kubectl %s: %s", strings.Join(words, " "), out)
	}
	return string(out), nil
}

// install applies what `kubectl apply -k` would: definitions, roles, configuration; no kubelet runs the Deployment.
func install(top string) error {
	all, err := kubectl("", "kustomize", filepath.Join(top, "deploy/overlays/manager"))
	if err != nil {
		return err
	}
	// The first time, definitions are not served yet when something of their kind comes.
	for range 3 {
		if _, err = kubectl(all, "apply", "--server-side", "--force-conflicts", "-f", "-"); err == nil {
			break
		}
		time.Sleep(time.Second)
	}
	if err != nil {
		return err
	}
	_, err = kubectl("", "apply", "--server-side", "-f", filepath.Join(top, "deploy/base/rbac/users.yaml"))
	return err
}

// deployedFlags are those that the Deployment gives besides the configuration's place: how much is logged.
func deployedFlags(top string) ([]string, error) {
	manifest, err := os.ReadFile(filepath.Join(top, "deploy/base/manager/manager.yaml"))
	var out []string
	for _, line := range strings.Split(string(manifest), "\n") {
		if flag, found := strings.CutPrefix(strings.TrimSpace(line), "- --"); found && !strings.HasPrefix(flag, "config=") {
			out = append(out, "--"+flag)
		}
	}
	return out, err
}

// aimWebhooks leads the API server to a port of this machine instead of the Service.
func aimWebhooks(a *api, port int) error {
	for _, path := range []string{mutating, validating} {
		found, err := a.Get(path)
		if err != nil {
			return err
		}
		hooks, _ := at(found, "webhooks").([]any)
		for _, hook := range hooks {
			config := at(hook, "clientConfig").(object)
			way := text(config, "service", "path")
			if way == "" {
				_, way, _ = strings.Cut(strings.TrimPrefix(text(config, "url"), "https://"), "/")
				way = "/" + way
			}
			delete(config, "service")
			config["url"] = fmt.Sprintf("https://127.0.0.1:%d%s", port, way)
		}
		if err := a.Replace(path, found); err != nil {
			return err
		}
	}
	return nil
}

// space makes a namespace with a tenant who may edit in it, and one who may also make runtimes, both called after it.
func space(a *api, ns string) error {
	if _, err := a.Create(core+"/namespaces", object{"metadata": object{"name": ns}}); err != nil && codeOf(err) != 409 {
		return err
	}
	// Without the controller manager nobody fills in the aggregated roles: their parts are bound instead.
	grants := map[string][]string{
		"edit-" + ns: {"system:aggregate-to-view", "system:aggregate-to-edit", "kubeflow-trainer-edit"},
		"own-" + ns:  {"system:aggregate-to-view", "system:aggregate-to-edit", "kubeflow-trainer-admin"},
	}
	for user, roles := range grants {
		for _, role := range roles {
			binding := object{
				"metadata": object{"name": strings.ReplaceAll(user+"-"+role, ":", "-")},
				"roleRef":  object{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
				"subjects": []object{{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}},
			}
			if _, err := a.Create(rbac+"/namespaces/"+ns+"/rolebindings", binding); err != nil && codeOf(err) != 409 {
				return err
			}
		}
	}
	return makeRuntimes(a, ns)
}

func makeRuntimes(a *api, ns string) error {
	for name, spec := range map[string]string{"torch": torchSpec, "mpi": mpiSpec} {
		what := fmt.Sprintf(`{"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainingRuntime",
"metadata":{"name":%q,"labels":{"trainer.kubeflow.org/webhook-validation":"disabled"}},"spec":%s}`, name, spec)
		if _, err := a.Create(trainer+"/namespaces/"+ns+"/trainingruntimes", what); err != nil && codeOf(err) != 409 {
			return err
		}
	}
	return nil
}

const torchSpec = `{"mlPolicy":{"numNodes":1,"torch":{}},"template":{"spec":{"replicatedJobs":[{"name":"node","template":{
"metadata":{"labels":{"trainer.kubeflow.org/trainjob-ancestor-step":"trainer"}},
"spec":{"template":{"spec":{"containers":[{"name":"node","image":"registry.test/torch:1"}]}}}}}]}}}`

const mpiSpec = `{"mlPolicy":{"numNodes":2,"mpi":{"numProcPerNode":8}},"podGroupPolicy":{"coscheduling":{}},
"template":{"spec":{"replicatedJobs":[{"name":"launcher","template":{
"metadata":{"labels":{"trainer.kubeflow.org/trainjob-ancestor-step":"trainer"}},
"spec":{"template":{"spec":{"containers":[{"name":"node","image":"registry.test/mpi:1"}]}}}}},
{"name":"node","template":{"spec":{"template":{"spec":{"containers":[{"name":"node","image":"registry.test/mpi:1"}]}}}}}]}}}`

// trainJob is a TrainJob's text; `more` are further members of its spec, `"suspend":true`.
func trainJob(name, runtime, more string) string {
	if more != "" {
		more = "," + more
	}
	return fmt.Sprintf(`{"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","metadata":{"name":%q},
"spec":{"runtimeRef":{"name":%q,"kind":"TrainingRuntime"}%s}}`, name, runtime, more)
}

func jobsIn(ns string) string       { return trainer + "/namespaces/" + ns + "/trainjobs" }
func jobSetsIn(ns string) string    { return jobset + "/namespaces/" + ns + "/jobsets" }
func configMapsIn(ns string) string { return core + "/namespaces/" + ns + "/configmaps" }
func secretsIn(ns string) string    { return core + "/namespaces/" + ns + "/secrets" }
func podGroupsIn(ns string) string  { return podgroup + "/namespaces/" + ns + "/podgroups" }

// review is an AdmissionReview of the creation of an object; `spec` is a TrainJob's.
func review(ns, name, spec string) string {
	return fmt.Sprintf(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u-1",
"kind":{"group":"trainer.kubeflow.org","version":"v1alpha1","kind":"TrainJob"},
"resource":{"group":"trainer.kubeflow.org","version":"v1alpha1","resource":"trainjobs"},
"name":%[2]q,"namespace":%[1]q,"operation":"CREATE","userInfo":{"username":"u"},"dryRun":false,
"object":{"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","metadata":{"name":%[2]q,"namespace":%[1]q,
"uid":"0-1","creationTimestamp":"2026-01-01T00:00:00Z"},"spec":%[3]s}}}`, ns, name, spec)
}

const torchJob = `{"runtimeRef":{"apiGroup":"trainer.kubeflow.org","name":"torch","kind":"TrainingRuntime"},"suspend":false,
"managedBy":"trainer.kubeflow.org/trainjob-controller"}`
