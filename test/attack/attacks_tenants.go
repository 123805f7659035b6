// What a tenant can do in a namespace of his own.
package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// runtimeOf is the text of a snapshot of that runtime.
func runtimeOf(ns, spec string) string {
	return `{"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainingRuntime","metadata":{"name":"torch","namespace":"` + ns +
		`"},"spec":` + spec + `}`
}

// aliasBomb is YAML of 500 KB whose aliases stand for 900 MB.
func aliasBomb(ns string) string {
	const aliases, length = 2000, 450_000
	env := `[{name: a, value: &a "` + strings.Repeat("x", length) + `"},` + repeated(aliases, "{name: e%d, value: *a}") + "]"
	return runtimeOf(ns, strings.Replace(torchSpec, `"image":"registry.test/torch:1"`, `"image":"registry.test/torch:1","env":`+env, 1))
}

// suspended makes a TrainJob that waits, with its snapshot.
func suspended(s *stage, name string) error {
	if _, err := s.tenant.Create(jobsIn(s.ns), trainJob(name, "torch", `"suspend":true`)); err != nil {
		return err
	}
	if !until(10*time.Second, func() bool { _, err := s.admin.Get(jobSetsIn(s.ns) + "/" + name); return err == nil }) {
		return fmt.Errorf("no JobSet for %s", name)
	}
	return nil
}

// forge puts another text into a job's snapshot, by whatever way is left; says which.
func forge(s *stage, name, text string) (string, error) {
	path := configMapsIn(s.ns) + "/" + name + "-runtime-snapshot"
	found, err := s.tenant.Get(path)
	if err != nil {
		return "", err
	}
	data := object{"runtime": text}
	if s.tenant.Patch(path, string(encode(object{"data": data}))) == nil {
		return "edited", nil
	}
	if err := s.tenant.Remove(path); err != nil {
		return "", err
	}
	meta := object{"name": name + "-runtime-snapshot", "ownerReferences": at(found, "metadata", "ownerReferences"),
		"labels": at(found, "metadata", "labels"), "annotations": at(found, "metadata", "annotations")}
	again := object{"metadata": meta, "data": data}
	if at(found, "immutable") == true {
		again["immutable"] = true
	}
	_, err = s.tenant.Create(configMapsIn(s.ns), again)
	if codeOf(err) == 409 { // the operator was quicker
		err = nil
	}
	return "made anew", err
}

// resumed lets the job plan again with whatever is in the snapshot.
func resumed(s *stage, name string) {
	_ = s.tenant.Patch(jobsIn(s.ns)+"/"+name, `{"spec":{"suspend":false}}`)
}

// runsForged looks for what only the forged snapshot says.
func runsForged(s *stage, marks ...string) error {
	for _, list := range []string{jobSetsIn(s.ns), configMapsIn(s.ns), podGroupsIn(s.ns)} {
		all, err := s.admin.Items(list)
		if err != nil {
			return err
		}
		for _, each := range all {
			if strings.HasSuffix(nameOf(each), "-runtime-snapshot") {
				continue
			}
			for _, mark := range marks {
				if strings.Contains(string(encode(each)), mark) {
					return fmt.Errorf("%s %s has %s", list, nameOf(each), mark)
				}
			}
		}
	}
	return nil
}

func aliasBombInSnapshot(s *stage) (string, error) {
	if err := suspended(s, "bomb"); err != nil {
		return "", err
	}
	bomb := aliasBomb(s.ns)
	way, err := forge(s, "bomb", bomb)
	if err != nil {
		return "", err
	}
	resumed(s, "bomb")
	time.Sleep(attackTime)
	return fmt.Sprintf("a snapshot %s to %d bytes with 2000 aliases", way, len(bomb)), runsForged(s, `"e7"`)
}

// aliasBombAtRestart is found by an operator that starts.
func aliasBombAtRestart(s *stage) (string, error) {
	sent, err := aliasBombInSnapshot(s)
	if err != nil || !s.on.running() {
		return sent, err
	}
	s.on.stop()
	if err := s.on.start(); err != nil {
		return sent, err
	}
	if err := s.group.settle(leadingWithin); err != nil {
		return sent + ", then a restart", err
	}
	s.counts = time.Now()
	time.Sleep(attackTime)
	return sent + ", then a restart", nil
}

// aliasBombOnCommandLine: who validates what others wrote.
func aliasBombOnCommandLine(s *stage) (string, error) {
	bomb := aliasBomb(s.ns)
	var said []string
	for _, words := range [][]string{{"render", "-f", "-"}, {"validate", "-f", "-"}} {
		command := s.on.cage.command(s.on.binary, words...)
		run := exec.Command(command[0], command[1:]...)
		job := trainJob("bomb", "torch", "")
		run.Stdin = strings.NewReader(bomb + "\n---\n" + strings.Replace(job, `{"name":"bomb"}`, `{"name":"bomb","namespace":"`+s.ns+`"}`, 1))
		begun := time.Now()
		_ = run.Run()
		status := run.ProcessState.Sys().(syscall.WaitStatus)
		if status.Signaled() || status.ExitStatus() > 2 {
			return "", fmt.Errorf("%s ended with %s", words[0], run.ProcessState)
		}
		said = append(said, fmt.Sprintf("%s in %.1f s", words[0], time.Since(begun).Seconds()))
	}
	return fmt.Sprintf("%d bytes with 2000 aliases: %s", len(bomb), strings.Join(said, ", ")), nil
}

func snapshotEdited(s *stage) (string, error) {
	var ways []string
	forged := strings.ReplaceAll(runtimeOf(s.ns, torchSpec), "registry.test/torch:1", "registry.test/evil:1")
	for _, name := range []string{"edited-one", "edited-two"} {
		if err := suspended(s, name); err != nil {
			return "", err
		}
		if name == "edited-two" { // the way that is left when ConfigMaps are immutable
			if err := s.tenant.Patch(configMapsIn(s.ns)+"/"+name+"-runtime-snapshot", `{"immutable":null}`); err != nil {
				ways = append(ways, "immutable")
			}
		}
		way, err := forge(s, name, forged)
		if err != nil {
			return "", err
		}
		ways = append(ways, way)
		resumed(s, name)
	}
	time.Sleep(attackTime)
	sent := "snapshots: " + strings.Join(ways, ", ")
	return sent, runsForged(s, "registry.test/evil:1")
}

// makeRuntime makes one whose validation its author has switched off.
func makeRuntime(s *stage, name, spec string) error {
	_, err := s.owner.Create(trainer+"/namespaces/"+s.ns+"/trainingruntimes",
		fmt.Sprintf(`{"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainingRuntime","metadata":{"name":%q,
"labels":{"trainer.kubeflow.org/webhook-validation":"disabled"}},"spec":%s}`, name, spec))
	return err
}

// overflow: counts whose product does not fit 64 bits.
func overflow(s *stage) (string, error) {
	const big = 2147483647
	set := func(name string, replicas, pods int, labels string) string {
		return fmt.Sprintf(`{"name":%q,"replicas":%d,"template":{%s"spec":{"parallelism":%d,"completions":%d,
"template":{"spec":{"containers":[{"name":"node","image":"i"}]}}}}}`, name, replicas, labels, pods, pods)
	}
	trains := `"metadata":{"labels":{"trainer.kubeflow.org/trainjob-ancestor-step":"trainer"}},`
	wrap := func(policy string, sets ...string) string {
		return `{"mlPolicy":{"numNodes":1` + policy + `},"podGroupPolicy":{"coscheduling":{}},"template":{"spec":{"replicatedJobs":[` +
			strings.Join(sets, ",") + `]}}}`
	}
	runtimes := map[string]string{
		// 4 × (2³¹−1)² + 8 × (2³¹−1) + 8 + 1 = 2⁶⁴ + 5
		"wraps": wrap(`,"torch":{}`, set("a", big, big, ""), set("b", big, big, ""), set("c", big, big, ""), set("d", big, big, ""),
			set("e", big, 8, ""), set("f", 8, 1, ""), set("node", 1, 1, trains)),
		"hosts": wrap(`,"mpi":{"numProcPerNode":2147483647}`, set("launcher", 1, 1, trains), set("node", big, big, "")),
		"nodes": wrap(`,"mpi":{"runLauncherAsNode":true}`, set("launcher", 1, 1, trains), set("node", big, big, "")),
		"flux":  wrap(`,"flux":{}`, set("node", 1, big, trains), set("other", big, big, "")),
	}
	for name, spec := range runtimes {
		if err := makeRuntime(s, name, spec); err != nil {
			return "", err
		}
	}
	time.Sleep(300 * time.Millisecond)
	accepted := 0
	for name := range runtimes {
		for i, nodes := range []int{1, big, big - 1, 1 << 30} {
			job := trainJob(fmt.Sprintf("%s-%d", name, i), name, fmt.Sprintf(`"trainer":{"numNodes":%d}`, nodes))
			if _, err := s.tenant.Create(jobsIn(s.ns), job); err == nil {
				accepted++
			} else if codeOf(err) == 0 || codeOf(err) == 500 {
				return "", err
			}
		}
	}
	time.Sleep(attackTime)
	sent := fmt.Sprintf("%d jobs near 2⁶⁴ pods, %d accepted", 4*len(runtimes), accepted)
	groups, err := s.admin.Items(podGroupsIn(s.ns))
	for _, each := range groups {
		if members, _ := at(each, "spec", "minMember").(float64); members < 100 && strings.HasPrefix(nameOf(each), "wraps") {
			return sent, fmt.Errorf("PodGroup %s has minMember %.0f", nameOf(each), members)
		}
	}
	return sent, err
}

// contained: runtimes that lack what a plan needs.
func contained(s *stage) (string, error) {
	odd := []string{
		strings.Replace(torchSpec, `,"image":"registry.test/torch:1"`, "", 1),
		strings.Replace(torchSpec, `{"name":"node","image":"registry.test/torch:1"}`, "", 1),
		strings.Replace(torchSpec, `"torch":{}`, `"flux":{}`, 1),
		strings.Replace(strings.Replace(torchSpec, `"torch":{}`, `"flux":{}`, 1), `,"image":"registry.test/torch:1"`, "", 1),
		strings.Replace(mpiSpec, `,"image":"registry.test/mpi:1"`, "", 2),
		strings.Replace(torchSpec, `"torch":{}`, `"torch":{"numProcPerNode":"gpu"}`, 1),
		strings.Replace(torchSpec, `"torch":{}`, `"xgboost":{}`, 1),
		`{"template":{"spec":{"replicatedJobs":[]}}}`,
		`{"mlPolicy":{"numNodes":1,"mpi":{}},"podGroupPolicy":{"coscheduling":{}},"template":{"spec":{"replicatedJobs":[]}}}`,
	}
	made := 0
	for i, spec := range odd {
		name := fmt.Sprintf("odd-%d", i)
		if makeRuntime(s, name, spec) != nil {
			continue
		}
		made++
		time.Sleep(100 * time.Millisecond)
		_, _ = s.tenant.Create(jobsIn(s.ns), trainJob(name, name, ""))
		_, _ = s.tenant.Create(jobsIn(s.ns), trainJob(name+"-more", name, `"trainer":{"numNodes":3,"numProcPerNode":4}`))
	}
	time.Sleep(attackTime / 2)
	return fmt.Sprintf("%d runtimes that lack something, 2 jobs on each", made), nil
}

// failingJobs: as many as one tenant likes fail again and again; that of another, which could go on now, does not wait for
// them.
func failingJobs(s *stage) (string, error) {
	const count = 600
	other := s.ns + "-other"
	if err := space(s.admin, other); err != nil {
		return "", err
	}
	const none = `"hard":{"count/configmaps":"0"}`
	quota := func(ns string) string { return core + "/namespaces/" + ns + "/resourcequotas" }
	for _, ns := range []string{s.ns, other} {
		if _, err := s.admin.Create(quota(ns), `{"metadata":{"name":"none"},"spec":{`+none+`}}`); err != nil {
			return "", err
		}
		// No controller does this here.
		if err := s.admin.Patch(quota(ns)+"/none/status", `{"status":{`+none+`,"used":{"count/configmaps":"0"}}}`); err != nil {
			return "", err
		}
	}
	for i := range count {
		if _, err := s.tenant.Create(jobsIn(s.ns), trainJob(fmt.Sprintf("fails-%d", i), "torch", "")); err != nil {
			return "", err
		}
	}
	if _, err := s.admin.Create(jobsIn(other), trainJob("waits", "torch", "")); err != nil {
		return "", err
	}
	time.Sleep(attackTime)
	if sets, err := s.admin.Items(jobSetsIn(other)); err != nil || len(sets) > 0 {
		return "", fmt.Errorf("the quota refused nothing, %v", err)
	}
	if err := s.admin.Remove(quota(other) + "/none"); err != nil {
		return "", err
	}
	begun := time.Now()
	goesOn := until(time.Minute, func() bool {
		_, err := s.admin.Get(jobSetsIn(other) + "/waits")
		return err == nil
	})
	took := time.Since(begun)
	sent := fmt.Sprintf("%d jobs that fail; another's goes on after %.1f s", count, took.Seconds())
	if !goesOn || took > 15*time.Second {
		return sent, fmt.Errorf("the job of another namespace waits for those that fail")
	}
	return sent, nil
}

// injection: texts that would end the text they are put into.
func injection(s *stage) (string, error) {
	const mark = "injected-by-attack"
	subdomains := []string{
		`a","` + mark + `":"b`,
		`a"}},"metadata":{"labels":{"` + mark + `":"b"}},"x":{"y":{"z":"`,
		"a\\n" + mark,
		"a\n" + mark + ": b",
	}
	made := 0
	for i, each := range subdomains {
		quoted := strings.TrimSuffix(string(encode(map[string]string{"subdomain": each})), "}")
		network := `"network":` + quoted + `,"enableDNSHostnames":true},"replicatedJobs"`
		for kind, spec := range map[string]string{"mpi": mpiSpec, "flux": strings.Replace(torchSpec, `"torch":{}`, `"flux":{}`, 1), "torch": torchSpec} {
			name := fmt.Sprintf("inject-%s-%d", kind, i)
			if makeRuntime(s, name, strings.Replace(spec, `"replicatedJobs"`, network, 1)) != nil {
				continue
			}
			time.Sleep(50 * time.Millisecond)
			if _, err := s.tenant.Create(jobsIn(s.ns), trainJob(name, name, `"trainer":{"numNodes":2}`)); err == nil {
				made++
			}
		}
	}
	// A snapshot is not reviewed.
	if err := suspended(s, "inject-snapshot"); err != nil {
		return "", err
	}
	text := runtimeOf(s.ns, strings.Replace(mpiSpec, `"replicatedJobs"`, `"network":{"subdomain":"a\",\"`+mark+`\":\"b"},"replicatedJobs"`, 1))
	way, err := forge(s, "inject-snapshot", text)
	if err != nil {
		return "", err
	}
	resumed(s, "inject-snapshot")
	time.Sleep(attackTime / 2)
	sent := fmt.Sprintf("%d jobs whose subdomain is JSON, a snapshot %s", made, way)
	maps, err := s.admin.Items(configMapsIn(s.ns))
	for _, each := range maps {
		data, _ := at(each, "data").(object)
		for key, value := range data {
			if key == mark || (key != "runtime" && strings.Contains(value.(string), "\n"+mark)) {
				return sent, fmt.Errorf("ConfigMap %s has %s", nameOf(each), key)
			}
		}
		if at(each, "metadata", "labels", mark) != nil {
			return sent, fmt.Errorf("ConfigMap %s has a label that was not given", nameOf(each))
		}
	}
	return sent, err
}

// foreign objects have the names that a job's children will have.
func foreign(s *stage) (string, error) {
	const jobs = 8
	mine := map[string]string{}
	keep := func(list, name, what string) error {
		made, err := s.tenant.Create(list, what)
		if err == nil {
			mine[list+"/"+name] = text(made, "metadata", "resourceVersion")
		}
		return err
	}
	meta := func(name string) string { return `"metadata":{"name":"` + name + `"}` }
	for i := range jobs {
		for _, kind := range []string{"torch", "mpi"} {
			name := fmt.Sprintf("%s-%d", kind, i)
			// The first half is there for a while, the second half is made a moment before the job is.
			if i == jobs/2 {
				time.Sleep(300 * time.Millisecond)
			}
			if _, err := s.admin.Create(jobSetsIn(s.ns), `{"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet",`+meta(name)+
				`,"spec":{"suspend":true,"replicatedJobs":[]}}`); err != nil {
				return "", err
			} else if found, err := s.admin.Get(jobSetsIn(s.ns) + "/" + name); err == nil {
				mine[jobSetsIn(s.ns)+"/"+name] = text(found, "metadata", "resourceVersion")
			}
			for _, suffix := range []string{"-runtime-snapshot", "-mpi-hostfile"} {
				if err := keep(configMapsIn(s.ns), name+suffix, `{`+meta(name+suffix)+`,"data":{"mine":"yes"}}`); err != nil {
					return "", err
				}
			}
			if err := keep(secretsIn(s.ns), name+"-mpi-ssh-auth", `{`+meta(name+"-mpi-ssh-auth")+`,"stringData":{"mine":"yes"}}`); err != nil {
				return "", err
			}
			if _, err := s.tenant.Create(jobsIn(s.ns), trainJob(name, kind, "")); err != nil {
				return "", err
			}
		}
	}
	time.Sleep(attackTime / 2)
	sent := fmt.Sprintf("%d objects of others with the names of children", len(mine))
	var changed []string
	for path, version := range mine {
		found, err := s.admin.Get(path)
		if err != nil || text(found, "metadata", "resourceVersion") != version {
			changed = append(changed, path[strings.LastIndex(path, "/")+1:])
		}
	}
	slices.Sort(changed)
	if len(changed) > 0 {
		return sent, fmt.Errorf("%d were changed: %s", len(changed), strings.Join(changed[:min(4, len(changed))], ", "))
	}
	return sent, nil
}

// progressFlood is a Pod's that has nothing better to do.
func progressFlood(s *stage) (string, error) {
	for _, name := range []string{"loud", "quiet"} {
		if _, err := s.tenant.Create(jobsIn(s.ns), trainJob(name, "torch", "")); err != nil {
			return "", err
		}
	}
	if _, err := s.tenant.Create(core+"/namespaces/"+s.ns+"/serviceaccounts", `{"metadata":{"name":"pod"}}`); err != nil {
		return "", err
	}
	log := newAudit()
	send := func(client *http.Client, job, token string, n int64) (int, error) {
		body := fmt.Sprintf(`{"trainerStatus":{"progressPercentage":%d,"lastUpdatedTime":"2026-01-02T03:%02d:05Z"}}`, n%100, n%60)
		request, _ := http.NewRequest("POST", fmt.Sprintf("https://127.0.0.1:%d%s/%s/status", s.on.ports.status, jobsIn(s.ns), job), bytes.NewReader([]byte(body)))
		request.Header.Set("Authorization", "Bearer "+token)
		answer, err := client.Do(request)
		if err != nil {
			return 0, err
		}
		defer answer.Body.Close()
		_, _ = io.Copy(io.Discard, answer.Body)
		return answer.StatusCode, nil
	}
	clientOf := func(from int) *http.Client {
		return &http.Client{Timeout: givenUpAfter, Transport: &http.Transport{TLSClientConfig: anyServer("http/1.1"), DialContext: dialer(from).DialContext}}
	}
	loud, err := reportToken(s, "loud")
	if err != nil {
		return "", err
	}
	quiet, err := reportToken(s, "quiet")
	if err != nil {
		return "", err
	}
	var quietAsked, quietServed, failed atomic.Int64
	if code, err := send(clientOf(50), "quiet", quiet, 1); err != nil || code != 200 {
		return "", fmt.Errorf("a report is answered with %d %v", code, err)
	}
	clients := make([]*http.Client, 9)
	for i := range clients {
		clients[i] = clientOf(i)
	}
	var number atomic.Int64
	begun := time.Now()
	times := crowd(s, len(clients), func(i int) error {
		if i == 0 { // the quiet one: a report a second
			quietAsked.Add(1)
			asked := time.Now()
			if code, err := send(clients[i], "quiet", quiet, quietAsked.Load()); err == nil && code == 200 && time.Since(asked) < 2*time.Second {
				quietServed.Add(1)
			}
			time.Sleep(time.Second)
			return nil
		}
		code, err := send(clients[i], "loud", loud, number.Add(1))
		if code >= 500 {
			failed.Add(1)
		}
		return err
	})
	patches := 0
	for _, e := range log.read() {
		if e.byOperator() && e.ObjectRef.Name == "loud" && e.writes() {
			patches++
		}
	}
	sent := fmt.Sprintf("%d reports for one job, %d writes of them", times, patches)
	switch rate := float64(patches) / time.Since(begun).Seconds(); {
	case rate > 10:
		return sent, fmt.Errorf("%.0f writes a second for one job", rate)
	case quietServed.Load() < quietAsked.Load():
		return sent, fmt.Errorf("another job's reports: %d of %d were taken within 2 s", quietServed.Load(), quietAsked.Load())
	case failed.Load() > 0:
		return sent, fmt.Errorf("%d were answered with 5xx", failed.Load())
	}
	return sent, nil
}

// reportToken is a token of a Pod of the job, with which alone it may report. No controller of JobSets runs here: what
// Pods there are, and that they are, is said for it.
func reportToken(s *stage, job string) (string, error) {
	set := jobSetsIn(s.ns) + "/" + job
	if !until(10*time.Second, func() bool { _, err := s.admin.Get(set); return err == nil }) {
		return "", fmt.Errorf("no JobSet for %s", job)
	}
	if err := s.admin.Patch(set+"/status", `{"status":{"replicatedJobsStatus":[{"name":"node","active":1,"failed":0,"ready":1,"succeeded":0,"suspended":0}]}}`); err != nil {
		return "", err
	}
	known := func() bool {
		found, err := s.admin.Get(jobsIn(s.ns) + "/" + job)
		return err == nil && text(found, "status", "jobsStatus", 0, "name") == "node"
	}
	if !until(10*time.Second, known) {
		return "", fmt.Errorf("%s: the operator does not see its JobSet's status", job)
	}
	pod := job + "-node-0-0-abcde"
	if _, err := s.admin.Create(core+"/namespaces/"+s.ns+"/pods", object{"metadata": object{"name": pod}, "spec": object{
		"serviceAccountName": "pod", "containers": []object{{"name": "node", "image": "registry.test/torch:1"}}}}); err != nil {
		return "", err
	}
	audience := "trainer.kubeflow.org/v1alpha1/namespaces/" + s.ns + "/trainjobs/" + job + "/status"
	made, err := s.admin.Create(core+"/namespaces/"+s.ns+"/serviceaccounts/pod/token",
		object{"spec": object{"audiences": []string{audience}, "expirationSeconds": 600,
			"boundObjectRef": object{"apiVersion": "v1", "kind": "Pod", "name": pod}}})
	if err != nil {
		return "", err
	}
	return text(made, "status", "token"), nil
}
