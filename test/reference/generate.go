package main

import (
	"fmt"
	"math/rand"
)

const role = "trainer.kubeflow.org/trainjob-ancestor-step"

type pair struct {
	runtime, job object
}

type generator struct {
	*rand.Rand
	framework string // of mlPolicy; "none": there is no policy
	labelled  bool   // a job has the trainer's label
	resources bool   // the TrainJob's; else the runtime's
	gang      bool
}

func generate(source *rand.Rand) pair {
	g := &generator{Rand: source}
	g.framework = g.one("none", "plain", "torch", "torch", "jax", "xgboost", "flux", "mpi", "mpi")
	g.labelled = g.framework != "none" && g.framework != "plain" || g.maybe(0.7)
	g.resources = g.framework != "none" && g.maybe(0.4) // 14, 17
	g.gang = g.maybe(0.5)
	rt := g.runtime()
	return pair{rt, g.job(rt)}
}

func (g *generator) maybe(chance float64) bool  { return g.Float64() < chance }
func (g *generator) one(words ...string) string { return words[g.Intn(len(words))] }
func (g *generator) between(low, high int) int  { return low + g.Intn(high-low+1) }
func (g *generator) set(o object, c float64, key string, value any) {
	if g.maybe(c) {
		o[key] = value
	}
}

func (g *generator) env(names ...string) []any {
	var out []any
	for _, name := range names {
		entry := object{"name": name}
		switch g.Intn(6) {
		case 0:
			entry["value"] = g.one("1", "x y", "$(A)")
		case 1:
			entry["valueFrom"] = object{"fieldRef": object{"fieldPath": "metadata.name"}}
		case 2:
			entry["valueFrom"] = object{"secretKeyRef": object{"name": "s", "key": "k"}}
		case 3:
			entry["valueFrom"] = object{"configMapKeyRef": object{"name": "c", "key": "k", "optional": true}}
		default:
			continue
		}
		out = append(out, entry)
	}
	return out
}

// Every limit is a request, too (9).
func (g *generator) amounts(compute bool) object {
	list := object{}
	g.set(list, 0.5, "memory", g.one("1Gi", "1500M", "1e9"))
	if compute {
		g.set(list, 0.6, "cpu", g.one("2", "500m", "0.5", "1e1", "2k"))
		g.set(list, 0.5, g.one("nvidia.com/gpu", "example.com/gpu"), g.one("1", "2", "8"))
	}
	if g.maybe(0.5) {
		return object{"requests": list}
	}
	return object{"requests": list, "limits": list}
}

func (g *generator) container(name string) object {
	c := object{"name": name, "image": "registry.test/" + name, "env": g.env("A", "B", "C"),
		"resources": g.amounts(!g.resources)}
	g.set(c, 0.3, "command", []any{g.one("run", "bash"), "-c"})
	if g.framework != "flux" { // 19
		g.set(c, 0.3, "args", []any{"a", "b"})
	}
	g.set(c, 0.2, "ports", []any{object{"name": "web", "containerPort": g.between(80, 81), "protocol": "TCP"}})
	g.set(c, 0.4, "volumeMounts", []any{object{"name": "v", "mountPath": "/v"}, object{"name": "initializer", "mountPath": "/w"}})
	g.set(c, 0.1, "securityContext", object{"privileged": true, "capabilities": object{"drop": []any{"ALL"}}})
	g.set(c, 0.1, "workingDir", "/x")
	return c
}

func (g *generator) podSpec(container string) object {
	s := object{"containers": []any{g.container(container), g.container("side")}}
	if g.maybe(0.3) {
		before := g.container("before")
		g.set(before, 0.3, "restartPolicy", "Always")
		s["initContainers"] = []any{before}
	}
	g.set(s, 0.4, "volumes", []any{object{"name": "v", "emptyDir": object{}},
		object{"name": "initializer", "persistentVolumeClaim": object{"claimName": "x"}}})
	g.set(s, 0.2, "nodeSelector", object{"a": "b"})
	g.set(s, 0.2, "tolerations", []any{object{"key": "k", "operator": "Exists"}})
	g.set(s, 0.2, "priorityClassName", "system-node-critical")
	g.set(s, 0.2, "overhead", object{"cpu": "100m"})
	g.set(s, 0.2, "serviceAccountName", "runner")
	g.set(s, 0.2, "securityContext", object{"runAsUser": 7, "sysctls": []any{object{"name": "a", "value": "b"}}})
	g.set(s, 0.2, "imagePullSecrets", []any{object{"name": "pull"}})
	g.set(s, 0.2, "terminationGracePeriodSeconds", g.between(0, 1)*30)
	g.set(s, 0.2, "hostNetwork", true)
	return s
}

func (g *generator) replicatedJob(name, label, container string) object {
	template := object{"spec": g.podSpec(container)}
	g.set(template, 0.2, "metadata", object{"labels": object{"p": "1"}, "annotations": object{"q": "1"}})
	spec := object{"template": template}
	if name != "launcher" { // 18
		g.set(spec, 0.4, "parallelism", g.between(0, 5))
		g.set(spec, 0.3, "completions", g.between(1, 5))
	}
	g.set(spec, 0.2, "backoffLimit", g.between(0, 4))
	g.set(spec, 0.2, "completionMode", "Indexed")
	job := object{"name": name, "groupName": "default", "replicas": 1, "template": object{"spec": spec}}
	if label != "" {
		job["template"].(object)["metadata"] = object{"labels": object{role: label}}
	} else if !g.gang && name != "launcher" { // 9, 18
		job["replicas"] = g.between(1, 4)
	}
	return job
}

func (g *generator) replicatedJobs() []any {
	var jobs []any
	for _, name := range []string{"dataset-initializer", "model-initializer"} {
		if g.maybe(0.3) {
			jobs = append(jobs, g.replicatedJob(name, name, name))
		}
	}
	label := ""
	if g.labelled {
		label = "trainer"
	}
	if g.framework == "mpi" && g.maybe(0.8) {
		launcher := g.one("", "trainer")
		jobs = append(jobs, g.replicatedJob("launcher", launcher, "node"))
		if launcher != "" {
			label = g.one("", "trainer")
		}
	}
	jobs = append(jobs, g.replicatedJob("node", label, "node"))
	if g.maybe(0.25) {
		jobs = append(jobs, g.replicatedJob("servers", "", g.one("node", "main")))
	}
	return jobs
}

func (g *generator) policy(jobs []any) object {
	p := object{}
	if g.labelled { // 27
		nodes := g.between(0, 4)
		if g.framework == "mpi" {
			nodes = min(nodes, 1) // 18
		}
		g.set(p, 0.6, "numNodes", nodes)
	}
	switch g.framework {
	case "torch":
		torch := object{}
		target := jobs[g.Intn(len(jobs))].(object)["name"]
		g.set(torch, 0.3, "envInjection", object{"targets": []any{object{"jobName": target, "containerNames": []any{"side"}}}})
		p["torch"] = torch
	case "mpi":
		p["mpi"] = object{"numProcPerNode": g.between(1, 2), "mpiImplementation": "OpenMPI",
			"sshAuthMountPath": g.one("/root/.ssh", "/home/m/.ssh"), "runLauncherAsNode": g.maybe(0.5)}
	case "flux":
		p["flux"] = object{"numProcPerNode": g.between(1, 2)}
	case "jax", "xgboost":
		p[g.framework] = object{}
	}
	return p
}

func (g *generator) runtime() object {
	jobs := g.replicatedJobs()
	set := object{"replicatedJobs": jobs}
	if g.framework == "none" || g.framework == "plain" || g.framework == "mpi" { // 15
		g.set(set, 0.3, "network", object{"subdomain": "mesh"})
	}
	g.set(set, 0.2, "successPolicy", object{"operator": "All", "targetReplicatedJobs": []any{"node"}})
	g.set(set, 0.2, "failurePolicy", object{"maxRestarts": g.between(1, 3), "restartStrategy": "Recreate"})
	g.set(set, 0.2, "ttlSecondsAfterFinished", g.between(1, 9))
	template := object{"spec": set}
	g.set(template, 0.3, "metadata", object{"labels": object{"l": "1"},
		"annotations": object{"scheduling.volcano.sh/queue-name": "q"}})
	spec := object{"template": template}
	if g.framework != "none" {
		spec["mlPolicy"] = g.policy(jobs)
	}
	if g.gang {
		spec["podGroupPolicy"] = object{"coscheduling": object{"scheduleTimeoutSeconds": g.between(0, 60)}}
		if g.maybe(0.5) {
			spec["podGroupPolicy"] = object{"volcano": object{"networkTopology": object{"mode": "hard", "highestTierAllowed": 2}}}
		}
	}
	name := g.one("rt", "torchtune-llama3.2-1b", "torchtune-llama3.3-70b", "torchtune-qwen2.5-1.5b")
	return object{"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainingRuntime",
		"metadata": object{"name": name, "namespace": "ns"}, "spec": spec}
}

func (g *generator) trainer() object {
	t := object{"env": g.env("A", "D", "E")}
	if g.framework == "flux" {
		t["numNodes"] = g.between(1, 4) // 19
	} else if g.labelled {
		g.set(t, 0.6, "numNodes", g.between(0, 4))
	}
	g.set(t, 0.3, "numProcPerNode", g.between(1, 4))
	if g.resources {
		t["resourcesPerNode"] = g.amounts(true)
	}
	g.set(t, 0.3, "image", "registry.test/own")
	if g.maybe(0.3) {
		t["command"] = []any{"python", "x.py"}
		if g.framework == "torch" {
			t["command"] = []any{"tune", "run"}
		}
	}
	args := [][]any{{"--a"}, {"model.lora_attn_modules=[q]"}, {"model.lora_attn_modules=[q]", "model.quantize_base=True"},
		{"model.quantize_base=True", "model.use_dora=True"}, {"tokenizer.path=x"}}
	g.set(t, 0.3, "args", args[g.Intn(len(args))])
	return t
}

func (g *generator) patch(jobs []any, number int) object {
	job := jobs[g.Intn(len(jobs))].(object)
	pod := job["template"].(object)["spec"].(object)["template"].(object)["spec"].(object)
	s := object{}
	g.set(s, 0.3, "nodeSelector", object{"z": "1"})
	g.set(s, 0.3, "tolerations", []any{object{"key": "t", "operator": "Exists"}})
	variables := g.env(fmt.Sprint("P", number), fmt.Sprint("Q", number)) // 12
	mounts := []any{object{"name": "v2", "mountPath": g.one("/v", "/v2"), "readOnly": true}}
	g.set(s, 0.3, "containers", []any{object{"name": "side", "env": variables, "volumeMounts": mounts,
		"securityContext": object{"runAsNonRoot": true, "capabilities": object{"add": []any{"X"}}}}})
	if _, has := pod["initContainers"]; has {
		g.set(s, 0.5, "initContainers", []any{object{"name": "before", "env": variables, "volumeMounts": mounts}})
	}
	g.set(s, 0.3, "volumes", []any{object{"name": "v2", "emptyDir": object{}}})
	g.set(s, 0.2, "serviceAccountName", "other")
	g.set(s, 0.2, "securityContext", object{"runAsUser": g.between(0, 1), "fsGroup": 5})
	g.set(s, 0.2, "schedulingGates", []any{object{"name": "gate"}})
	template := object{"spec": s}
	g.set(template, 0.3, "metadata", object{"labels": object{"x": "1"}})
	set := object{"spec": object{"replicatedJobs": []any{object{"name": job["name"], "template": object{"spec": object{"template": template}}}}}}
	g.set(set, 0.3, "metadata", object{"annotations": object{"scheduling.volcano.sh/queue-name": "patched"}})
	return object{"manager": fmt.Sprint("example.test/", number), "trainingRuntimeSpec": object{"template": set}}
}

func (g *generator) job(rt object) object {
	jobs := rt["spec"].(object)["template"].(object)["spec"].(object)["replicatedJobs"].([]any)
	spec := object{"suspend": g.maybe(0.3), "managedBy": "trainer.kubeflow.org/trainjob-controller",
		"runtimeRef": object{"name": rt["metadata"].(object)["name"], "apiGroup": "trainer.kubeflow.org", "kind": "TrainingRuntime"}}
	if g.labelled {
		spec["trainer"] = g.trainer() // 13
	}
	initializers := object{}
	for _, j := range jobs {
		source := object{"env": g.env("A", "F")}
		g.set(source, 0.7, "storageUri", "hf://x")
		g.set(source, 0.4, "secretRef", object{"name": "token"})
		switch j.(object)["name"] {
		case "dataset-initializer":
			g.set(initializers, 0.7, "dataset", source)
		case "model-initializer":
			g.set(initializers, 0.7, "model", source)
		}
	}
	g.set(spec, 0.8, "initializer", initializers)
	if g.maybe(0.4) {
		spec["runtimePatches"] = []any{g.patch(jobs, 1), g.patch(jobs, 2)}
	}
	return object{"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob",
		"metadata": object{"name": "job", "namespace": "ns", "uid": "u-1"}, "spec": spec}
}
