// Test of the controllers beside the servers: a JobSet goes through its webhooks and becomes a Pod.
package main

import (
	"os"
	"path/filepath"
	"testing"
)

const jobset = `apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: a}
spec:
  replicatedJobs:
  - name: w
    template:
      spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: example.invalid/c}]}}}
`

func TestJobSetWithItsWebhooksMakesPods(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	manifest := filepath.Join(t.TempDir(), "jobset.yaml")
	if err := os.WriteFile(manifest, []byte(jobset), 0o644); err != nil {
		t.Fatal(err)
	}
	l := launch(t, "up", "--dir", dir, "--with", "kcm,scheduler", "--with", "jobset", "--lifeline-stdin")
	l.ready()
	if output, err := kubectl(dir, "create", "-f", manifest); err != nil {
		t.Fatal(output)
	}
	// Nothing but the mutating webhook fills in the completion mode.
	mode, err := kubectl(dir, "get", "jobset", "a", "-o", "jsonpath={.spec.replicatedJobs[0].template.spec.completionMode}")
	if err != nil || mode != "Indexed" {
		t.Errorf("completion mode %q %v", mode, err)
	}
	// The scheduler looks at a Pod only after the controllers have made it, and finds no node for it.
	output, err := kubectl(dir, "wait", "--for=create", "pod", "-l", "jobset.sigs.k8s.io/jobset-name=a", "--timeout=30s")
	if err == nil {
		output, err = kubectl(dir, "wait", "--for=condition=PodScheduled=false", "pod", "-l", "jobset.sigs.k8s.io/jobset-name=a", "--timeout=30s")
	}
	if err != nil {
		t.Errorf("no Pod: %s", output)
	}
	if output, err := kubectl(dir, "patch", "jobset", "a", "--type=merge", "-p", `{"spec":{"replicatedJobs":[]}}`); err == nil {
		t.Errorf("the validating webhook let this through: %s", output)
	}
	l.stdin.Close()
	if code := l.code(); code != 0 {
		t.Errorf("exit code %d: %s", code, l.errors.String())
	}
}
