// TrainJobs whose Pods do not come or do not start.
package main

import (
	"fmt"
	"strings"
)

func blocks() []mishap {
	return append(unplaced(), append(unmade(), append(unstarted(), inTheWay()...)...)...)
}

// unplaced Pods are there, and no node takes them.
func unplaced() []mishap {
	return []mishap{{
		name:    "no-gpus",
		title:   "No node has that many GPUs",
		symptom: blocked,
		todo:    "Ask for fewer a node (`resourcesPerNode`), more nodes of fewer GPUs each, or wait for a node of that size.",
		job:     trainJob("torch", `trainer: {numNodes: 2, resourcesPerNode: {limits: {nvidia.com/gpu: 8}}}`),
		names:   []string{`(?i)Insufficient nvidia\.com/gpu`, `0/3 nodes`},
	}, {
		name:    "node-selector",
		title:   "No node has the labels that are asked for",
		symptom: blocked,
		todo:    "`kubectl get nodes --show-labels`; correct `nodeSelector` in the runtime or in `runtimePatches`.",
		objects: mine("nodeSelector: {pool: h100}, "),
		job:     trainJob("mine", "trainer: {numNodes: 2}"),
		names:   []string{`(?i)node affinity/selector`, `0/3 nodes`},
	}, {
		name:    "no-volume-claim",
		title:   "The PersistentVolumeClaim does not exist",
		symptom: blocked,
		todo:    "Make the claim in the namespace of the TrainJob, or correct its name. Pods wait for it and go on by themselves.",
		objects: mine("volumes: [{name: data, persistentVolumeClaim: {claimName: datasets}}], "),
		job:     trainJob("mine", "trainer: {numNodes: 2}"),
		names:   []string{`persistentvolumeclaim "datasets" not found`},
	}}
}

// unmade Pods are refused by the API server, which the Job's events tell.
func unmade() []mishap {
	return []mishap{{
		name:    "quota",
		title:   "The ResourceQuota of the namespace is used up",
		symptom: blocked,
		todo:    "`kubectl describe quota -n NAMESPACE`; end another job, or ask for a larger quota. Pods come by themselves when there is room.",
		objects: "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: team}\nspec: {hard: {requests.nvidia.com/gpu: 1}}\n",
		job:     trainJob("torch", `trainer: {numNodes: 1, resourcesPerNode: {limits: {nvidia.com/gpu: 4}}}`),
		names:   []string{`exceeded quota: team`, `requests\.nvidia\.com/gpu`},
	}, {
		name:    "limit-range",
		title:   "A LimitRange refuses the Pods",
		symptom: blocked,
		todo:    "`kubectl describe limitrange -n NAMESPACE`; ask for less in `resourcesPerNode`.",
		objects: "apiVersion: v1\nkind: LimitRange\nmetadata: {name: small}\nspec: {limits: [{type: Container, max: {cpu: 2}}]}\n",
		job:     trainJob("torch", `trainer: {resourcesPerNode: {limits: {cpu: 8}}}`),
		names:   []string{`maximum cpu usage per Container is 2`},
	}, {
		name:    "no-service-account",
		title:   "The ServiceAccount does not exist",
		symptom: blocked,
		todo:    "`kubectl create serviceaccount trainer -n NAMESPACE`, or correct `serviceAccountName`. Pods come by themselves then.",
		objects: mine("serviceAccountName: trainer, "),
		job:     trainJob("mine", "trainer: {numNodes: 2}"),
		names:   []string{`(?i)serviceaccount "trainer" not found`},
	}, {
		name:    "pod-security",
		title:   "Pod Security of the namespace refuses the Pods",
		symptom: blocked,
		todo:    "Give the containers of the runtime the `securityContext` that is named, or use a namespace of another level.",
		objects: "apiVersion: v1\nkind: Namespace\nmetadata: {name: pod-security, labels: {pod-security.kubernetes.io/enforce: baseline}}\n---\n" +
			mine("hostNetwork: true, "),
		job:   trainJob("mine", ""),
		names: []string{`violates PodSecurity "baseline`, `host ?[nN]amespaces|hostNetwork`},
	}, {
		name:    "webhook-refuses",
		title:   "A policy of the cluster refuses the Pods",
		symptom: blocked,
		todo:    "Ask who keeps the policy that is named, or change what it objects to.",
		objects: `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: images-from-here}
spec:
  failurePolicy: Fail
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  validations: [{expression: "object.spec.containers.all(c, c.image.startsWith('registry.inside/'))", message: "images have to come from registry.inside"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: images-from-here}
spec: {policyName: images-from-here, validationActions: [Deny], matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: webhook-refuses}}}}
`,
		first: refusesPods("images have to come"),
		job:   trainJob("torch", ""),
		names: []string{`images-from-here`, `images have to come from registry\.inside`},
	}, {
		name:    "webhook-down",
		title:   "A webhook for Pods does not answer",
		symptom: blocked,
		todo:    "Bring back what serves the webhook that is named (`kubectl get validatingwebhookconfigurations`). Pods come by themselves then.",
		objects: `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: guard}
webhooks:
- name: pods.guard.test
  failurePolicy: Fail
  sideEffects: None
  admissionReviewVersions: [v1]
  timeoutSeconds: 2
  clientConfig: {url: "https://127.0.0.1:9/check"}
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: webhook-down}}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
`,
		first: refusesPods("pods.guard.test"),
		job:   trainJob("torch", ""),
		names: []string{`failed calling webhook "pods\.guard\.test"`},
	}}
}

// refusesPods waits until the API server has taken up what refuses Pods, some time after it is stored.
func refusesPods(with string) func(*stage) error {
	return func(s *stage) error {
		return s.player.until(podsWithin, "Pods are refused", func() bool {
			out, good := kubectl("", "-n", s.ns, "run", "probe", "--image="+image, "--dry-run=server")
			return !good && strings.Contains(out, with)
		})
	}
}

// unstarted Pods have a node, and their kubelet says why no container runs.
func unstarted() []mishap {
	const absent = "registry.test/torch:2.77"
	const notFound = `failed to pull and unpack image "` + absent + `": failed to resolve reference "` + absent + `": ` + absent + `: not found`
	return []mishap{{
		name:    "image-pull",
		title:   "The image cannot be pulled",
		symptom: blocked,
		todo:    "Correct the image and make the TrainJob anew. For a private registry, `imagePullSecrets` of the runtime's Pods have to name a Secret of the namespace.",
		job:     trainJob("torch", fmt.Sprintf("trainer: {numNodes: 2, image: %q}", absent)),
		play: func(s *stage) error {
			pods, err := s.placed(2)
			for _, pod := range pods {
				if err == nil {
					err = s.kubeletEvent(pod, "Warning", "Failed", fmt.Sprintf("Failed to pull image %q: %s", absent, notFound))
				}
				if err == nil {
					err = s.become(pod, waits(absent, "ImagePullBackOff", fmt.Sprintf("Back-off pulling image %q: ErrImagePull: %s", absent, notFound)))
				}
			}
			return err
		},
		names: []string{`ImagePullBackOff|ErrImagePull`, `registry\.test/torch:2\.77`},
	}, {
		name:    "no-secret",
		title:   "A Secret that the container reads does not exist",
		symptom: blocked,
		todo:    "Make the Secret in the namespace of the TrainJob. The kubelet tries again by itself.",
		job:     trainJob("torch", `trainer: {numNodes: 2, env: [{name: HF_TOKEN, valueFrom: {secretKeyRef: {name: hugging-face, key: token}}}]}`),
		play: func(s *stage) error {
			pods, err := s.placed(2)
			for _, pod := range pods {
				if err == nil {
					err = s.kubeletEvent(pod, "Warning", "Failed", `Error: secret "hugging-face" not found`)
				}
				if err == nil {
					err = s.become(pod, waits(image, "CreateContainerConfigError", `secret "hugging-face" not found`))
				}
			}
			return err
		},
		names: []string{`secret "hugging-face" not found`},
	}}
}

// inTheWay are objects of others with the names that a TrainJob's children need.
func inTheWay() []mishap {
	return []mishap{{
		name:    "foreign-jobset",
		title:   "Another JobSet has the TrainJob's name",
		symptom: blocked,
		todo:    "Delete that JobSet if nobody needs it, or give the TrainJob another name.",
		objects: `apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train}
spec: {suspend: true, replicatedJobs: [{name: theirs, template: {spec: {template: {spec: {containers: [{name: c, image: "registry.test/theirs:1"}]}}}}}]}
`,
		job:   trainJob("torch", ""),
		names: []string{`JobSet train`, `(?i)not controlled|belongs|another|foreign`},
	}, {
		name:    "foreign-configmap",
		title:   "Another ConfigMap has the name of the runtime's snapshot",
		symptom: blocked,
		todo:    "Delete that ConfigMap if nobody needs it, or give the TrainJob another name.",
		objects: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: train-runtime-snapshot}\ndata: {mine: \"yes\"}\n",
		job:     trainJob("torch", ""),
		names:   []string{`ConfigMap train-runtime-snapshot`, `(?i)not controlled|belongs|another|foreign`},
	}, {
		name:    "snapshot-edited",
		title:   "The runtime's snapshot was changed",
		symptom: blocked,
		todo:    "Delete the ConfigMap: it is made anew from the runtime as it is now. Look who may write ConfigMaps of the namespace.",
		job:     trainJob("torch", "suspend: true"),
		play:    editSnapshot,
		names:   []string{`(?i)snapshot`, `(?i)changed|hash|differ`},
	}}
}

// editSnapshot puts another one in its place, with the same owner, and resumes the TrainJob.
func editSnapshot(s *stage) error {
	path := coreAPI + "/namespaces/" + s.ns + "/configmaps"
	var found object
	if err := s.player.until(podsWithin, "the snapshot", func() bool {
		var err error
		found, err = s.on.Get(path + "/train-runtime-snapshot")
		job, _ := s.on.Get(trainerAPI + "/namespaces/" + s.ns + "/trainjobs/train")
		return err == nil && (s.operator == nil || textAt(job, "status", "runtimeSnapshotHash") != "")
	}); err != nil {
		return err
	}
	changed := fmt.Sprintf(`{"metadata":{"name":"train-runtime-snapshot","labels":%s,"ownerReferences":%s},"immutable":true,"data":%s}`,
		encode(at(found, "metadata", "labels")), encode(at(found, "metadata", "ownerReferences")),
		strings.ReplaceAll(encode(at(found, "data")), "python", "python2"))
	if err := s.on.Remove(path + "/train-runtime-snapshot"); err != nil {
		return err
	}
	if _, err := s.on.Create(path, changed); err != nil {
		return err
	}
	_ = s.on.Remove(jobsetAPI + "/namespaces/" + s.ns + "/jobsets/train")
	return s.on.Patch(trainerAPI+"/namespaces/"+s.ns+"/trainjobs/train", `{"spec":{"suspend":false}}`)
}
