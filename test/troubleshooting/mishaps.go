// All mishaps, in the order of the page: those that kubectl tells at once, and those of TrainJobs that nobody runs.
package main

import "slices"

func mishaps() []mishap {
	return slices.Concat(refusals(), blocks(), gangs(), suspensions(), failures(), outages())
}

func refusals() []mishap {
	return []mishap{{
		name:    "runtime-name",
		title:   "The runtime does not exist",
		symptom: refused,
		todo:    "`kubectl get clustertrainingruntimes` lists those of the cluster, `kubectl get trainingruntimes -n NAMESPACE` those of the namespace.",
		job:     jobFor("{name: torch-distribute}", ""),
		names:   []string{`torch-distribute`, `(?i)not found|no such|does not exist|not exist`},
	}, {
		name:    "runtime-kind",
		title:   "The runtime is of the other kind",
		symptom: refused,
		todo:    "Set `spec.runtimeRef.kind` to `ClusterTrainingRuntime`, or make the runtime in the namespace of the TrainJob.",
		job:     jobFor("{name: torch, kind: TrainingRuntime}", ""),
		names:   []string{`TrainingRuntime.*torch|torch.*TrainingRuntime`, `(?i)not found|no such|does not exist|not exist`},
	}, {
		name:    "runtime-group",
		title:   "The runtime is of a kind that nobody knows",
		symptom: refused,
		todo:    "Leave `spec.runtimeRef.apiGroup` out, and let `kind` be `ClusterTrainingRuntime` or `TrainingRuntime`.",
		job:     jobFor("{name: torch, apiGroup: example.com, kind: Recipe}", ""),
		names:   []string{`Recipe\.example\.com`, `ClusterTrainingRuntime`},
	}, {
		name:    "no-trainer-label",
		title:   "The runtime has no trainer: `spec.trainer` of the TrainJob would be ignored",
		symptom: refused,
		todo:    "Label the template of the job that trains in the runtime: `trainer.kubeflow.org/trainjob-ancestor-step: trainer`.",
		objects: `apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: mine}
spec:
  template:
    spec:
      replicatedJobs:
      - name: work
        template: {spec: {backoffLimit: 0, template: {spec: {restartPolicy: Never, containers: [{name: node, image: "registry.test/torch:2.7"}]}}}}
`,
		job:   trainJob("mine", "trainer: {numNodes: 4, image: \"registry.test/mine:1\"}"),
		names: []string{`spec\.trainer is ignored`},
		warns: true,
	}, {
		name:    "no-image",
		title:   "Neither the runtime nor the TrainJob has an image",
		symptom: refused,
		todo:    "Set `spec.trainer.image` of the TrainJob, or the image of container `node` in the runtime.",
		objects: runtimeYAML(runtimeParts{container: " "}),
		job:     trainJob("mine", "trainer: {numNodes: 2}"),
		names:   []string{`(?i)image`, `(?i)required`},
	}, {
		name:    "gpu-without-limit",
		title:   "GPUs are requested without a limit",
		symptom: refused,
		todo:    "Give `nvidia.com/gpu` in `resourcesPerNode.limits`; the request then follows.",
		job:     trainJob("torch", `trainer: {numNodes: 2, resourcesPerNode: {requests: {nvidia.com/gpu: 1}}}`),
		names:   []string{`resources\.limits`, `Limit must be set`},
		state:   "Blocked",
	}, {
		name:    "gpu-fraction",
		title:   "A fraction of a GPU is requested",
		symptom: refused,
		todo:    "Ask for whole GPUs. Parts of one are resources of their own names (MIG, time slicing).",
		job:     trainJob("torch", `trainer: {resourcesPerNode: {limits: {nvidia.com/gpu: "0.5"}}}`),
		names:   []string{`nvidia\.com/gpu`, `(?i)integer`},
	}, {
		name:    "name-too-long",
		title:   "The name is too long for Pods",
		symptom: refused,
		todo:    "Give the TrainJob a shorter name: Pods are called `NAME-JOB-REPLICA-INDEX-xxxxx`, and have 63 characters.",
		job:     jobNamed("llama-3-2-70b-instruct-finetuning-on-our-support-tickets", "{name: torch}", "trainer: {numNodes: 2}"),
		names:   []string{`(?i)name`, `63|too long|characters`},
	}, {
		name:    "negative-nodes",
		title:   "`numNodes` is negative",
		symptom: refused,
		todo:    "Set `spec.trainer.numNodes` to the number of nodes, or leave it to the runtime.",
		job:     trainJob("torch", "trainer: {numNodes: -1}"),
		names:   []string{`numNodes`, `-1`, `non-negative|greater than or equal to 0`},
	}, {
		name:    "typo",
		title:   "A field is misspelt",
		symptom: refused,
		todo:    "`cotrain validate -f job.yaml` names the field that was meant; `kubectl explain trainjob.spec.trainer` lists them.",
		job:     trainJob("torch", "trainer: {numNode: 4}"),
		names:   []string{`unknown field "spec\.trainer\.numNode"`},
	}, {
		name:    "patch-target",
		title:   "A patch names a job that the runtime does not have",
		symptom: refused,
		todo:    "`kubectl get clustertrainingruntime NAME -o jsonpath='{.spec.template.spec.replicatedJobs[*].name}'` lists the jobs.",
		job: trainJob("torch", `runtimePatches: [{manager: example.com/me, trainingRuntimeSpec: {template: {spec: {replicatedJobs: `+
			`[{name: worker, template: {spec: {template: {spec: {nodeSelector: {pool: gpu}}}}}}]}}}}]`),
		names: []string{`runtimePatches`, `worker`},
	}, {
		name:    "two-gangs",
		title:   "The runtime asks for two gang schedulers",
		symptom: refused,
		todo:    "Keep one of `coscheduling` and `volcano` in `podGroupPolicy`: the one that the cluster has.",
		job:     runtimeYAML(runtimeParts{spec: "podGroupPolicy: {coscheduling: {}, volcano: {}}"}),
		names:   []string{`podGroupPolicy`, `(?i)one`},
	}}
}
