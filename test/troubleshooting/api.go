// The API server as these mishaps need it: kubectl for what a user types, plain requests for everything else.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"cotrain.dev/apiclient"
)

const (
	trainerAPI = "/apis/trainer.kubeflow.org/v1alpha1"
	jobsetAPI  = "/apis/jobset.x-k8s.io/v1alpha2"
	coreAPI    = "/api/v1"
	leaseAPI   = "/apis/coordination.k8s.io/v1"

	operatorNamespace = "kubeflow-system"
	operatorAccount   = "kubeflow-trainer-controller-manager"
)

type (
	api    = apiclient.Client
	object = apiclient.Object
)

var (
	at      = apiclient.At
	textAt  = apiclient.Text
	listAt  = apiclient.List
	nameOf  = apiclient.NameOf
	control = apiclient.Control
	until   = apiclient.Until
)

// quoted is a JSON string, which is one of YAML, too.
func quoted(text string) string {
	out, _ := json.Marshal(text)
	return string(out)
}

// Programs of Kubernetes are large and start slowly: a few at a time.
var programs = make(chan struct{}, 3)

// kubectl returns what both streams said, and whether it went well.
func kubectl(input string, words ...string) (string, bool) {
	return program(os.Getenv("COTRAIN_TEST_KUBECTL"), input, words...)
}

func program(path, input string, words ...string) (string, bool) {
	programs <- struct{}{}
	defer func() { <-programs }()
	run := exec.Command(path, words...)
	run.Stdin = strings.NewReader(input)
	var out bytes.Buffer
	run.Stdout, run.Stderr = &out, &out
	err := run.Run()
	return strings.TrimSpace(out.String()), err == nil
}

func must(input string, words ...string) error {
	if out, good := kubectl(input, words...); !good {
		return fmt.Errorf("kubectl %s: %s", strings.Join(words, " "), out)
	}
	return nil
}
