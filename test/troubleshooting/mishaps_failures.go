// TrainJobs that run and do not end well.
package main

import (
	"fmt"
	"time"
)

const lastWords = "RuntimeError: CUDA error: an illegal memory access was encountered"

func failures() []mishap {
	return append([]mishap{{
		name:    "deadline",
		title:   "The deadline passed",
		symptom: failed,
		todo:    "Make the TrainJob anew with a larger `spec.activeDeadlineSeconds`, or without one; it counts from the creation or the last resumption.",
		job:     trainJob("torch", "activeDeadlineSeconds: 5, trainer: {numNodes: 2}"),
		play:    func(s *stage) error { _, err := s.runAll(2); return err },
		names:   []string{`(?i)deadline`},
		state:   "Failed",
	}, {
		name:    "out-of-memory",
		title:   "Rank 0 is killed for memory",
		symptom: failed,
		todo:    "Raise the memory in `resourcesPerNode`, or use smaller batches or more nodes.",
		job:     trainJob("torch", "trainer: {numNodes: 2, resourcesPerNode: {limits: {memory: 1Gi}}}"),
		play:    fails(2, 0, endsWith(image, 137, "OOMKilled", "")),
		names:   []string{`OOMKilled`, `137`, `(?i)rank.{0,4}0`, `node-\d`},
		state:   "Failed",
	}, {
		name:    "exit-code",
		title:   "The program ends with an error",
		symptom: failed,
		todo:    "Read the log of the Pod that is named (`kubectl logs`), or where it is gone, what your logging kept of it.",
		job:     trainJob("torch", "trainer: {numNodes: 2}"),
		play:    fails(2, 1, endsWith(image, 1, "Error", lastWords)),
		names:   []string{`(?i)exit.{0,6}1\b`, `(?i)rank.{0,4}1`, `illegal memory access`, `node-\d`},
		state:   "Failed",
	}, {
		name:    "evicted",
		title:   "The node evicts a Pod",
		symptom: failed,
		todo:    "Give the Pods requests for what they use (here: ephemeral storage), so that the scheduler leaves room for it.",
		job:     trainJob("torch", "trainer: {numNodes: 2}"),
		play: fails(2, 1, fmt.Sprintf(`{"status":{"phase":"Failed","reason":"Evicted","message":%q,"conditions":[
{"type":"DisruptionTarget","status":"True","reason":"TerminationByKubelet","message":%[1]q},{"type":"Ready","status":"False","reason":"PodFailed"}],
"containerStatuses":[{"name":"node","image":%q,"imageID":"","ready":false,"started":false,"restartCount":0,
"state":{"terminated":{"exitCode":137,"reason":"ContainerStatusUnknown","message":"The container could not be located when the pod was terminated"}}}]}}`,
			"The node was low on resource: ephemeral-storage. Threshold quantity: 5Gi, available: 1Gi. ", image)),
		names: []string{`Evicted`, `ephemeral-storage`, `(?i)rank.{0,4}1`},
		state: "Failed",
	}}, restarting()...)
}

// restarting are those that JobSet starts again, or the kubelet.
func restarting() []mishap {
	again := runtimeYAML(runtimeParts{set: "failurePolicy: {maxRestarts: 2}"})
	return []mishap{{
		name:    "restarted",
		title:   "A rank failed, and JobSet starts all again",
		symptom: failed,
		todo:    "Nothing, if it does not go on; the failure is that of the attempt before.",
		objects: again,
		job:     trainJob("mine", "trainer: {numNodes: 2}"),
		play: func(s *stage) error {
			if err := fails(2, 1, endsWith(image, 1, "Error", lastWords))(s); err != nil {
				return err
			}
			_, err := s.runNext(2, 1)
			return err
		},
		names: []string{`illegal memory access`, `(?i)rank.{0,4}1`},
		state: "Running",
	}, {
		name:    "max-restarts",
		title:   "It failed once more than it may be started again",
		symptom: failed,
		todo:    "Look at `status.failures`: what the attempts have in common is the cause. `failurePolicy.maxRestarts` of the runtime is the limit.",
		objects: again,
		job:     trainJob("mine", "trainer: {numNodes: 2}"),
		play: func(s *stage) error {
			for attempt := range 3 {
				pods, err := s.runNext(2, attempt)
				if err == nil {
					err = s.become(pods[0], endsWith(image, 137, "OOMKilled", ""))
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
		names: []string{`(?i)max.{0,12}restarts`, `OOMKilled`, `137`, `(?i)rank.{0,4}0`},
		state: "Failed",
	}, {
		name:    "crash-loop",
		title:   "The container ends again and again, and the kubelet starts it again",
		symptom: failed,
		todo:    "`kubectl logs --previous` of the Pod that is named. `restartPolicy: Never` in the runtime makes it a failure at once.",
		objects: runtimeYAML(runtimeParts{job: "backoffLimit: 6, ", pod: "restartPolicy: OnFailure, "}),
		job:     trainJob("mine", "trainer: {numNodes: 2}"),
		play: func(s *stage) error {
			pods, err := s.runAll(2)
			if err != nil {
				return err
			}
			return s.become(pods[0], fmt.Sprintf(crashed, image, 3, "back-off 40s restarting failed container=node pod="+nameOf(pods[0]),
				137, "OOMKilled", "", thisMoment))
		},
		names: []string{`CrashLoopBackOff|OOMKilled`, `(?i)node-0-0|rank.{0,4}0`},
	}, {
		name:    "node-lost",
		title:   "A node is gone",
		symptom: failed,
		todo:    "Nothing where the runtime allows restarts; otherwise make the TrainJob anew. `kubectl get nodes` shows what is left.",
		job:     trainJob("torch", "trainer: {numNodes: 2, resourcesPerNode: {limits: {nvidia.com/gpu: 4}}}"),
		play:    loseNode,
		names:   []string{`no failed Pod is left: its node is gone`},
		state:   "Failed",
		turn:    after,
	}}
}

// fails has all Pods run, then one of them ends so.
func fails(count, rank int, how string) func(*stage) error {
	return func(s *stage) error {
		pods, err := s.runNext(count, 0)
		if err != nil {
			return err
		}
		return s.become(pods[rank], how)
	}
}

// runNext has the Pods of that attempt run.
func (s *stage) runNext(count, attempt int) ([]object, error) {
	var pods []object
	err := s.player.until(podsWithin, fmt.Sprintf("%s: Pods of attempt %d", s.ns, attempt), func() bool {
		pods = nil
		for _, pod := range s.pods() {
			if textAt(pod, "metadata", "labels", "jobset.sigs.k8s.io/restart-attempt") == fmt.Sprint(attempt) && textAt(pod, "spec", "nodeName") != "" {
				pods = append(pods, pod)
			}
		}
		return len(pods) == count
	})
	for _, pod := range pods {
		if err == nil {
			err = s.become(pod, runs(image))
		}
	}
	if err != nil {
		return pods, err
	}
	return pods, s.seenReady(count)
}

// seenReady waits until JobSet counts the Pods as ready: what then fails has run.
func (s *stage) seenReady(count int) error {
	return s.player.until(podsWithin, s.ns+": JobSet counts them", func() bool {
		set, err := s.on.Get(jobsetAPI + "/namespaces/" + s.ns + "/jobsets/train")
		ready, _ := at(set, "status", "replicatedJobsStatus", 0, "ready").(float64)
		return err == nil && ready == 1
	})
}

// loseNode has the machine of one Pod go away, and then the Node object, as cloud controllers do.
func loseNode(s *stage) error {
	pods, err := s.runNext(2, 0)
	if err != nil {
		return err
	}
	node := textAt(pods[1], "spec", "nodeName")
	s.nodes.die(node)
	if err := s.on.Remove(coreAPI + "/nodes/" + node); err != nil {
		return err
	}
	gone := func() bool {
		pod, err := s.on.Get(coreAPI + "/namespaces/" + s.ns + "/pods/" + nameOf(pods[1]))
		return err != nil || textAt(pod, "status", "phase") == "Failed"
	}
	return s.player.until(3*time.Minute, "the Pod of the lost node", gone)
}
