// TrainJobs that come together or not at all, and those that somebody holds back.
package main

import "fmt"

const gangPolicy = "podGroupPolicy: {coscheduling: {scheduleTimeoutSeconds: 10}}"

func gangs() []mishap {
	return []mishap{{
		name:    "no-pod-groups",
		title:   "The cluster has no PodGroups",
		symptom: blocked,
		todo:    "Install the CRD of PodGroups with the scheduler that keeps to them, or take `podGroupPolicy` out of the runtime. The TrainJob goes on by itself.",
		objects: runtimeYAML(runtimeParts{spec: gangPolicy}),
		job:     trainJob("mine", "trainer: {numNodes: 2}"),
		names:   []string{`PodGroup|podgroups`, `(?i)not installed|no matches|CRD|definition`},
		turn:    before,
	}, {
		name:    "no-scheduler",
		title:   "The scheduler that the runtime names does not run",
		symptom: blocked,
		todo:    "Start the scheduler that is named, or correct `schedulerName` in the runtime.",
		objects: runtimeYAML(runtimeParts{spec: gangPolicy, pod: "restartPolicy: Never, schedulerName: nobody, "}),
		job:     trainJob("mine", "trainer: {numNodes: 2}"),
		names:   []string{`(?i)scheduler.*nobody|nobody.*scheduler`},
	}, {
		name:    "gang-too-large",
		title:   "The gang is larger than what the cluster has",
		symptom: blocked,
		todo:    "Ask for fewer nodes, or wait: Pods of a gang come together or not at all. `spec.activeDeadlineSeconds` ends the wait.",
		objects: runtimeYAML(runtimeParts{spec: gangPolicy, pod: "restartPolicy: Never, schedulerName: gang, "}),
		job:     trainJob("mine", `trainer: {numNodes: 5, resourcesPerNode: {limits: {nvidia.com/gpu: 4}}}`),
		play:    neverPlaced,
		names:   []string{`(?i)gang|PodGroup`, `resource gap`, `nvidia\.com/gpu`},
	}}
}

// What scheduler-plugins v0.35.4 writes of a gang that no cluster of this size holds; that scheduler does not run here.
const resourceGap = "0/3 nodes are available: resource gap: map[nvidia.com/gpu:{{8 0} {<nil>}  DecimalSI}]. " +
	"preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."

func neverPlaced(s *stage) error {
	var pods []object
	if err := s.player.until(podsWithin, s.ns+": its Pods", func() bool { pods = s.pods(); return len(pods) == 5 }); err != nil {
		return err
	}
	for _, pod := range pods {
		status := fmt.Sprintf(`{"status":{"conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable","message":%s}]}}`,
			quoted(resourceGap))
		if err := s.become(pod, status); err != nil {
			return err
		}
	}
	return nil
}

// What Kueue writes is played by hand: its Workload, in the shape and with the words of its 0.19.
const workloads = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: workloads.kueue.x-k8s.io}
spec:
  group: kueue.x-k8s.io
  scope: Namespaced
  names: {kind: Workload, plural: workloads, singular: workload, listKind: WorkloadList}
  versions: [{name: v1beta1, served: true, storage: true, subresources: {status: {}},
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}},
    {name: v1beta2, served: true, storage: false, subresources: {status: {}},
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`

// queued is a TrainJob in a queue of Kueue's, whose Workload says why it waits.
func queued(reason, message string) func(*stage) error {
	return func(s *stage) error {
		if err := must(workloads, "apply", "--server-side", "-f", "-"); err != nil {
			return err
		}
		path := trainerAPI + "/namespaces/" + s.ns + "/trainjobs/train"
		job, err := s.on.Get(path)
		if err != nil {
			return err
		}
		workload := fmt.Sprintf(`apiVersion: kueue.x-k8s.io/v1beta1
kind: Workload
metadata:
  name: trainjob-train-8f3a1
  ownerReferences: [{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, name: train, uid: %q, controller: true}]
spec: {queueName: team-queue}
`, textAt(job, "metadata", "uid"))
		if err := s.player.until(podsWithin, "the Workload is taken", func() bool {
			return must(workload, "-n", s.ns, "apply", "-f", "-") == nil
		}); err != nil {
			return err
		}
		status := fmt.Sprintf(`{"status":{"conditions":[{"type":"QuotaReserved","status":"False","reason":%q,"message":%s,"lastTransitionTime":%q}]}}`,
			reason, quoted(message), now())
		return s.on.Patch("/apis/kueue.x-k8s.io/v1beta1/namespaces/"+s.ns+"/workloads/trainjob-train-8f3a1/status", status)
	}
}

func suspensions() []mishap {
	inQueue := func(name string) string {
		return "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: train, labels: {kueue.x-k8s.io/queue-name: " + name +
			"}}\nspec: {runtimeRef: {name: torch}, suspend: true, trainer: {numNodes: 2}}\n"
	}
	return []mishap{{
		name:    "suspended",
		title:   "Somebody suspended it",
		symptom: suspended,
		todo:    "`kubectl patch trainjob NAME --type=merge -p '{\"spec\":{\"suspend\":false}}'`. `kubectl get trainjob NAME -o yaml --show-managed-fields` says who set it.",
		job:     trainJob("torch", "suspend: true, trainer: {numNodes: 2}"),
		names:   []string{`(?i)suspend`},
		state:   "Suspended",
	}, {
		name:    "queue-full",
		title:   "Kueue's queue is full",
		symptom: suspended,
		todo:    "Wait, or raise the job's priority class. `kubectl get workloads -n NAMESPACE` shows who is before it.",
		job:     inQueue("team-queue"),
		play: queued("Pending", "couldn't assign flavors to pod set node: insufficient unused quota for nvidia.com/gpu in flavor default, "+
			"4 more needed"),
		names: []string{`team-queue`},
		state: "Suspended",
	}, {
		name:    "no-queue",
		title:   "Kueue's LocalQueue does not exist",
		symptom: suspended,
		todo:    "`kubectl get localqueues -n NAMESPACE`; correct the label `kueue.x-k8s.io/queue-name`, or make the queue.",
		job:     inQueue("team-queu"),
		play:    queued("Inadmissible", "LocalQueue team-queu doesn't exist"),
		names:   []string{`team-queu`},
		state:   "Suspended",
	}}
}
