// The TrainJobs and runtimes that mishaps begin with.
package main

import "fmt"

// trainJob refers to a runtime of its namespace, "mine", or to a shared one; `more` are further members of its spec.
func trainJob(runtime, more string) string {
	kind := "ClusterTrainingRuntime"
	if runtime == "mine" {
		kind = "TrainingRuntime"
	}
	return jobFor(fmt.Sprintf("{name: %s, kind: %s}", runtime, kind), more)
}

func jobFor(reference, more string) string { return jobNamed(jobName, reference, more) }

func jobNamed(name, reference, more string) string {
	if more != "" {
		more = ", " + more
	}
	return fmt.Sprintf("apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: %s}\nspec: {runtimeRef: %s%s}\n",
		name, reference, more)
}

// runtimeParts are what one runtime has and others have not.
type runtimeParts struct{ kind, name, spec, set, job, pod, container, labels string }

// runtimeYAML is a Torch runtime whose Pods end at the first failure, unless its parts say something else.
func runtimeYAML(p runtimeParts) string {
	if p.kind == "" {
		p.kind = "TrainingRuntime"
	}
	if p.name == "" {
		p.name = "mine"
	}
	if p.job == "" {
		p.job = "backoffLimit: 0, "
	}
	if p.pod == "" {
		p.pod = "restartPolicy: Never, "
	}
	if p.container == "" {
		p.container = "image: " + quoted(image) + ", "
	}
	if p.labels == "" {
		p.labels = "{trainer.kubeflow.org/trainjob-ancestor-step: trainer}"
	}
	return fmt.Sprintf(`apiVersion: trainer.kubeflow.org/v1alpha1
kind: %s
metadata: {name: %s}
spec:
  mlPolicy: {numNodes: 1, torch: {}}
  %s
  template:
    spec:
      %s
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: %s}
          spec: {%stemplate: {spec: {%scontainers: [{%sname: node, command: [python, train.py]}]}}}
`, p.kind, p.name, p.spec, p.set, p.labels, p.job, p.pod, p.container)
}

// mine is a runtime of the mishap's own whose Pods have this.
func mine(pod string) string { return runtimeYAML(runtimeParts{pod: pod + "restartPolicy: Never, "}) }

var sharedRuntimes = runtimeYAML(runtimeParts{kind: "ClusterTrainingRuntime", name: "torch"})
