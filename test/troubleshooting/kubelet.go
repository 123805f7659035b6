// Nodes without a machine: their Leases are renewed, Pods that are deleted go, and what becomes of containers is said here
// in a kubelet's words.
package main

import (
	"fmt"
	"sync"
	"time"
)

const (
	fakeNodes   = 3
	renewPeriod = 3 * time.Second
	sweepPeriod = 500 * time.Millisecond
)

// kubelet stands for those of all nodes.
type kubelet struct {
	on    *api
	mutex sync.Mutex
	dead  map[string]bool // nodes whose Leases are not renewed any more
}

func nodeNamed(number int) string { return fmt.Sprintf("worker-%d", number) }

// startNodes makes nodes with four GPUs each, which stay ready until the process ends.
func startNodes(on *api) (*kubelet, error) {
	k := &kubelet{on: on, dead: map[string]bool{}}
	if err := must(fmt.Sprintf("apiVersion: v1\nkind: Namespace\nmetadata: {name: %s}\n", "kube-node-lease"), "apply", "-f", "-"); err != nil {
		return nil, err
	}
	for number := 1; number <= fakeNodes; number++ {
		if err := k.join(nodeNamed(number)); err != nil {
			return nil, err
		}
	}
	go k.renew()
	go k.sweep()
	return k, nil
}

func (k *kubelet) join(name string) error {
	body := fmt.Sprintf(`{"metadata":{"name":%q,"labels":{"kubernetes.io/hostname":%[1]q,"kubernetes.io/os":"linux"}}}`, name)
	if _, err := k.on.Create(coreAPI+"/nodes", body); err != nil {
		return err
	}
	now := time.Now().UTC().Format(time.RFC3339)
	const room = `{"cpu":"16","memory":"64Gi","pods":"110","nvidia.com/gpu":"4"}`
	status := fmt.Sprintf(`{"status":{"capacity":%s,"allocatable":%[1]s,"conditions":[{"type":"Ready","status":"True",
"reason":"KubeletReady","lastHeartbeatTime":%q,"lastTransitionTime":%[2]q}]}}`, room, now)
	if err := k.on.Patch(coreAPI+"/nodes/"+name+"/status", status); err != nil {
		return err
	}
	lease := fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"holderIdentity":%[1]q,"leaseDurationSeconds":40}}`, name)
	_, err := k.on.Create(leaseAPI+"/namespaces/kube-node-lease/leases", lease)
	return err
}

func (k *kubelet) isDead(node string) bool {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return k.dead[node]
}

// die is what a node does whose machine is gone: nothing.
func (k *kubelet) die(node string) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.dead[node] = true
}

func (k *kubelet) renew() {
	for ; ; time.Sleep(renewPeriod) {
		for number := 1; number <= fakeNodes; number++ {
			if name := nodeNamed(number); !k.isDead(name) {
				_ = k.on.Patch(leaseAPI+"/namespaces/kube-node-lease/leases/"+name,
					fmt.Sprintf(`{"spec":{"renewTime":%q}}`, time.Now().UTC().Format("2006-01-02T15:04:05.000000Z")))
			}
		}
	}
}

// sweep ends Pods that are deleted: their containers need no time.
func (k *kubelet) sweep() {
	for ; ; time.Sleep(sweepPeriod) {
		pods, err := k.on.Items(coreAPI + "/pods")
		if err != nil {
			continue
		}
		for _, pod := range pods {
			if textAt(pod, "metadata", "deletionTimestamp") != "" && !k.isDead(textAt(pod, "spec", "nodeName")) {
				_ = k.on.Remove(coreAPI + "/namespaces/" + textAt(pod, "metadata", "namespace") + "/pods/" + nameOf(pod))
			}
		}
	}
}

// What kubelets write into the status of a Pod with the one container `node`; %s is the image.
const (
	waiting = `{"status":{"phase":"Pending","conditions":[
{"type":"Initialized","status":"True"},{"type":"Ready","status":"False","reason":"ContainersNotReady","message":"containers with unready status: [node]"},
{"type":"ContainersReady","status":"False","reason":"ContainersNotReady"},{"type":"PodScheduled","status":"True"}],
"containerStatuses":[{"name":"node","image":%[1]q,"imageID":"","ready":false,"started":false,"restartCount":0,
"state":{"waiting":{"reason":%[2]q,"message":%[3]q}}}]}}`

	running = `{"status":{"phase":"Running","startTime":%[2]q,"conditions":[
{"type":"Initialized","status":"True"},{"type":"Ready","status":"True"},{"type":"ContainersReady","status":"True"},{"type":"PodScheduled","status":"True"}],
"containerStatuses":[{"name":"node","image":%[1]q,"imageID":"sha256:1","ready":true,"started":true,"restartCount":0,
"state":{"running":{"startedAt":%[2]q}}}]}}`

	crashed = `{"status":{"phase":"Running","conditions":[
{"type":"Initialized","status":"True"},{"type":"Ready","status":"False","reason":"ContainersNotReady"},
{"type":"ContainersReady","status":"False","reason":"ContainersNotReady"},{"type":"PodScheduled","status":"True"}],
"containerStatuses":[{"name":"node","image":%[1]q,"imageID":"sha256:1","ready":false,"started":false,"restartCount":%[2]d,
"state":{"waiting":{"reason":"CrashLoopBackOff","message":%[3]q}},
"lastState":{"terminated":{"exitCode":%[4]d,"reason":%[5]q,"message":%[6]q,"startedAt":%[7]q,"finishedAt":%[7]q}}}]}}`

	ended = `{"status":{"phase":%[2]q,"reason":%[3]q,"message":%[4]q,"conditions":[
{"type":"Initialized","status":"True"},{"type":"Ready","status":"False","reason":"PodFailed"},
{"type":"ContainersReady","status":"False","reason":"PodFailed"},{"type":"PodScheduled","status":"True"}],
"containerStatuses":[{"name":"node","image":%[1]q,"imageID":"sha256:1","ready":false,"started":false,"restartCount":0,
"state":{"terminated":{"exitCode":%[5]d,"reason":%[6]q,"message":%[7]q,"startedAt":%[8]q,"finishedAt":%[8]q}}}]}}`
)

// thisMoment stands for the time at which a status is written.
const thisMoment = "THIS-MOMENT"

func now() string { return time.Now().UTC().Format(time.RFC3339) }

func waits(image, reason, message string) string { return fmt.Sprintf(waiting, image, reason, message) }
func runs(image string) string                   { return fmt.Sprintf(running, image, thisMoment) }

// endsWith is a Pod whose container ended; `last` is its termination message.
func endsWith(image string, code int, reason, last string) string {
	return fmt.Sprintf(ended, image, "Failed", "", "", code, reason, last, thisMoment)
}
