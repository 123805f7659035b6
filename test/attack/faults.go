// Faults of network, process, API server, etcd and rights, made from outside of the operator while TrainJobs come and go.
// After each the cluster must be right again within so many seconds: play.go sees to that.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"cotrain.dev/apiclient"
)

const (
	faultNamespace = "faults"
	longElection   = ", leaseDuration: 60s, renewDeadline: 50s"
	shortElection  = ", leaseDuration: 8s, renewDeadline: 6s, retryPeriod: 1s"
	roleBinding    = rbac + "/clusterrolebindings/kubeflow-trainer-controller-manager"
	role           = rbac + "/clusterroles/kubeflow-trainer-controller-manager"
)

// fault breaks something and mends it again; what it finds wrong by itself is an error.
type fault struct {
	name   string
	within time.Duration // from its end until all is right
	run    func(*play) error
}

func (f fault) id() string { return strings.ReplaceAll(f.name, " ", "-") }

func faults() []fault {
	return []fault{
		{"black hole for 8 s", 10 * time.Second, func(p *play) error { return p.network((*proxy).blackHole, 8*time.Second) }},
		{"half-open connections", 10 * time.Second, func(p *play) error { p.actors[0].way.halfOpen(); p.churn(); return nil }},
		{"connections cut", 5 * time.Second, cutOften},
		{"400 ms of delay", 10 * time.Second, func(p *play) error {
			return p.network(func(w *proxy) { w.slow(400 * time.Millisecond) }, 6*time.Second)
		}},
		{"frozen for 5 s", 10 * time.Second, frozen},
		{"killed", 20 * time.Second, killed},
	}
}

// patientFaults take longer than a Lease of the usual length would last.
func patientFaults() []fault {
	return []fault{
		{"API server stopped", 5 * time.Second, func(p *play) error { return p.server("stop apiserver", "start apiserver", 2*time.Second) }},
		{"API server killed", 5 * time.Second, func(p *play) error { return p.server("kill apiserver", "start apiserver", 2*time.Second) }},
		{"API server frozen", 10 * time.Second, func(p *play) error { return p.server("pause apiserver", "cont apiserver", 5*time.Second) }},
		{"etcd frozen", 10 * time.Second, func(p *play) error { return p.server("pause etcd", "cont etcd", 5*time.Second) }},
		{"etcd killed", 10 * time.Second, func(p *play) error { return p.server("kill etcd", "start etcd", 2*time.Second) }},
		{"compaction", 10 * time.Second, compaction},
		{"rights taken", 10 * time.Second, rightsTaken},
		{"foreign while blind", 10 * time.Second, foreignWhileBlind},
		{"deleted while away", 10 * time.Second, deletedWhileAway},
		{"certificate fight", 10 * time.Second, certificateFight},
		{"nothing for 20 s", 5 * time.Second, quiet},
	}
}

func pairFaults() []fault {
	return []fault{
		{"leader cut off", 15 * time.Second, leaderCutOff},
		{"Lease deleted", 15 * time.Second, leaseDeleted},
		{"leader handed over", 10 * time.Second, handedOver},
		{"random faults", 20 * time.Second, randomFaults},
	}
}

// network breaks the first actor's way for some time, in which TrainJobs come and go.
func (p *play) network(breaks func(*proxy), lasts time.Duration) error {
	begun := time.Now()
	breaks(p.actors[0].way)
	p.churn()
	time.Sleep(lasts - time.Since(begun))
	p.actors[0].way.heal()
	return nil
}

func cutOften(p *play) error {
	for range 5 {
		p.actors[0].way.cut(false)
		p.churn()
		time.Sleep(300 * time.Millisecond)
	}
	return nil
}

func frozen(p *play) error {
	p.actors[0].signal(syscall.SIGSTOP)
	time.AfterFunc(5*time.Second, func() { p.actors[0].signal(syscall.SIGCONT) })
	p.churn() // each webhook is waited for
	time.Sleep(5 * time.Second)
	return nil
}

func killed(p *play) error {
	p.churn()
	p.actors[0].kill()
	p.churn()
	return p.actors[0].start()
}

// server sends two commands to the control plane's launcher, and lets some time pass between.
func (p *play) server(breaks, mends string, lasts time.Duration) error {
	if _, err := apiclient.Control(breaks); err != nil {
		return err
	}
	time.Sleep(lasts)
	if _, err := apiclient.Control(mends); err != nil {
		return err
	}
	p.churn()
	return nil
}

// compaction: the operator is away, what it has seen is compacted away, and the API server remembers nothing.
func compaction(p *play) error {
	p.actors[0].way.cut(true)
	for range 3 {
		p.churn()
	}
	socket := filepath.Join(scratch(), "etcd.sock")
	client := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}
	ask := func(path, body string) (object, error) {
		answer, err := client.Post("http://etcd"+path, jsonType, bytes.NewReader([]byte(body)))
		if err != nil {
			return nil, err
		}
		defer answer.Body.Close()
		var out object
		if err := json.NewDecoder(answer.Body).Decode(&out); err != nil || answer.StatusCode != 200 {
			return nil, fmt.Errorf("etcd %s: %d %v", path, answer.StatusCode, out)
		}
		return out, nil
	}
	now, err := ask("/v3/kv/range", `{"key":"AA=="}`)
	if err == nil {
		_, err = ask("/v3/kv/compaction", `{"revision":"`+text(now, "header", "revision")+`","physical":true}`)
	}
	if err == nil {
		_, err = apiclient.Control("restart apiserver")
	}
	p.actors[0].way.heal()
	return err
}

// scratch is where the launcher keeps its sockets.
func scratch() string {
	place, err := filepath.EvalSymlinks(os.Getenv("COTRAIN_TEST_CONTROL"))
	if err != nil {
		return ""
	}
	return filepath.Dir(place)
}

// without takes the object away while something happens, and puts it back.
func (p *play) without(path string, meanwhile func() error) error {
	found, err := p.admin.Get(path)
	if err != nil {
		return err
	}
	if err := p.admin.Remove(path); err != nil {
		return err
	}
	failure := meanwhile()
	delete(found["metadata"].(object), "resourceVersion")
	delete(found["metadata"].(object), "uid")
	_, err = p.admin.Create(path[:strings.LastIndex(path, "/")], found)
	if err != nil {
		return err
	}
	return failure
}

func rightsTaken(p *play) error {
	return p.without(roleBinding, func() error {
		p.actors[0].way.cut(false) // watches that are allowed once go on without that
		p.churn()
		time.Sleep(8 * time.Second)
		return nil
	})
}

// foreignWhileBlind: the operator may not watch JobSets; one of somebody else has the name of a job's.
func foreignWhileBlind(p *play) error {
	found, err := p.admin.Get(role)
	if err != nil {
		return err
	}
	before := encode(found)
	for _, rule := range at(found, "rules").([]any) {
		if text(rule, "resources", 0) == "jobsets" {
			rule.(object)["verbs"] = []string{"create", "delete", "get", "patch"}
		}
	}
	if err := p.admin.Replace(role, found); err != nil {
		return err
	}
	time.Sleep(200 * time.Millisecond)
	p.actors[0].way.cut(false)
	time.Sleep(2 * time.Second)
	versions := map[string]string{}
	for range 3 {
		p.number++
		name := fmt.Sprintf("foreign-%d", p.number)
		made, err := p.admin.Create(jobSetsIn(faultNamespace), `{"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet","metadata":{"name":"`+
			name+`"},"spec":{"suspend":true,"replicatedJobs":[]}}`)
		if err != nil {
			return err
		}
		versions[name] = text(made, "metadata", "resourceVersion")
		if _, err := p.admin.Create(jobsIn(faultNamespace), trainJob(name, "torch", "")); err != nil {
			return err
		}
	}
	time.Sleep(3 * time.Second)
	var again object
	_ = json.Unmarshal(before, &again)
	delete(again["metadata"].(object), "resourceVersion")
	if err := p.admin.Replace(role, again); err != nil {
		return err
	}
	p.churn()
	time.Sleep(2 * time.Second)
	failure := error(nil)
	for name, version := range versions {
		set, err := p.admin.Get(jobSetsIn(faultNamespace) + "/" + name)
		if err != nil || text(set, "metadata", "resourceVersion") != version {
			failure = fmt.Errorf("JobSet %s, which is somebody else's, was changed", name)
		}
		_ = p.admin.Remove(jobsIn(faultNamespace) + "/" + name)
		_ = p.admin.Remove(jobSetsIn(faultNamespace) + "/" + name)
	}
	return failure
}

// deletedWhileAway: jobs go while the operator cannot see it, their children with them; none may be made again.
func deletedWhileAway(p *play) error {
	if _, fault := p.right(20 * time.Second); fault != "" {
		return fmt.Errorf("%s", fault)
	}
	log := newAudit()
	names := []string{}
	for i := range 4 {
		names = append(names, fmt.Sprintf("job-%d", p.number-i))
	}
	p.actors[0].way.blackHole()
	for _, name := range names {
		p.delete(name)
	}
	until(20*time.Second, func() bool { // the collector takes their JobSets
		for _, name := range names {
			if _, err := p.admin.Get(jobSetsIn(faultNamespace) + "/" + name); codeOf(err) != 404 {
				return false
			}
		}
		return true
	})
	p.actors[0].way.cut(false)
	p.actors[0].way.heal()
	time.Sleep(5 * time.Second)
	for _, e := range log.read() {
		if e.byOperator() && e.Status.Code == 201 && p.gone[e.ObjectRef.Name] {
			return fmt.Errorf("%s %s was made for a TrainJob that is gone", e.ObjectRef.Resource, e.ObjectRef.Name)
		}
	}
	return nil
}

const fightMax = 10 // requests a second

// certificateFight: somebody else wants another authority in the webhooks, and is quick.
func certificateFight(p *play) error {
	log, begun := newAudit(), time.Now()
	found, err := p.admin.Get(validating)
	if err != nil {
		return err
	}
	other := text(found, "webhooks", 0, "clientConfig", "caBundle")
	theirs, err := os.ReadFile(filepath.Join(os.Getenv("COTRAIN_TEST_PKI"), "ca.crt"))
	if err != nil {
		return err
	}
	for time.Since(begun) < 6*time.Second {
		now, err := p.admin.Get(validating)
		if err != nil {
			return err
		}
		if text(now, "webhooks", 0, "clientConfig", "caBundle") == other {
			hooks := at(now, "webhooks").([]any)
			for _, hook := range hooks {
				at(hook, "clientConfig").(object)["caBundle"] = theirs
			}
			_ = p.admin.Replace(validating, now)
		}
		time.Sleep(2 * time.Millisecond)
	}
	asked := 0
	for _, e := range log.read() {
		if e.byOperator() && strings.HasSuffix(e.ObjectRef.Resource, "webhookconfigurations") {
			asked++
		}
	}
	if rate := float64(asked) / time.Since(begun).Seconds(); rate > fightMax {
		return fmt.Errorf("%.0f requests a second", rate)
	}
	return nil
}

// leader is who holds the Lease, and the other one.
func (p *play) leader() (*actor, *actor) {
	var one, two *actor
	until(20*time.Second, func() bool {
		for i, each := range p.actors {
			if holds(each, p.admin) {
				one, two = each, p.actors[1-i]
				return true
			}
		}
		return false
	})
	return one, two
}

// holds asks the operator's own metrics, as alerts do.
func holds(each *actor, _ *api) bool {
	client := http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: anyServer("http/1.1")}}
	answer, err := client.Get(fmt.Sprintf("https://127.0.0.1:%d/debug/state", each.ports.metrics))
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	var state object
	return json.NewDecoder(answer.Body).Decode(&state) == nil && state["leading"] == true
}

func leaderCutOff(p *play) error {
	leader, other := p.leader()
	if leader == nil {
		return fmt.Errorf("nobody leads")
	}
	leader.way.blackHole()
	p.churn()
	begun := time.Now()
	if !until(14*time.Second, func() bool { return holds(other, p.admin) }) {
		leader.way.heal()
		return fmt.Errorf("nobody took over within 14 s (leaseDuration is 8 s)")
	}
	fmt.Printf("      taken over in %.1f s\n", time.Since(begun).Seconds())
	p.churn()
	leader.way.heal()
	return p.revive()
}

// revive starts again who ended because the Lease was lost: that is its end in good order.
func (p *play) revive() error {
	for _, each := range p.actors {
		if until(3*time.Second, func() bool { return !each.running() }) {
			if err := each.start(); err != nil {
				return err
			}
		}
	}
	return nil
}

func leaseDeleted(p *play) error {
	for range 3 {
		if err := p.admin.Remove(lease); err != nil && codeOf(err) != 404 {
			return err
		}
		p.churn()
		time.Sleep(1500 * time.Millisecond)
		p.churn()
	}
	return p.revive()
}

func handedOver(p *play) error {
	leader, _ := p.leader()
	if leader == nil {
		return fmt.Errorf("nobody leads")
	}
	p.churn()
	if !leader.stop() {
		return fmt.Errorf("%s did not end", leader.name)
	}
	p.churn()
	return leader.start()
}

// randomFaults in an order that the seed decides.
func randomFaults(p *play) error {
	deeds := []struct {
		name string
		do   func(*actor)
	}{
		{"cut", func(a *actor) { a.way.cut(false) }},
		{"half-open", func(a *actor) { a.way.halfOpen() }},
		{"hole", func(a *actor) { a.way.blackHole() }},
		{"heal", func(a *actor) { a.way.heal() }},
		{"slow", func(a *actor) { a.way.slow(150 * time.Millisecond) }},
		{"stop", func(a *actor) { a.signal(syscall.SIGSTOP) }},
		{"cont", func(a *actor) { a.signal(syscall.SIGCONT) }},
		{"kill", func(a *actor) { a.kill() }},
		{"lease", func(*actor) { _ = p.admin.Remove(lease) }},
	}
	var done []string
	for begun := time.Now(); time.Since(begun) < 25*time.Second; {
		whom := p.actors[p.random.IntN(len(p.actors))]
		what := deeds[p.random.IntN(len(deeds))]
		done = append(done, whom.name+" "+what.name)
		what.do(whom)
		p.churn()
		time.Sleep(time.Duration(200+p.random.IntN(1500)) * time.Millisecond)
		for _, each := range p.actors {
			if !each.running() {
				if err := each.start(); err != nil {
					return err
				}
			}
		}
	}
	for _, each := range p.actors {
		each.signal(syscall.SIGCONT)
		each.way.heal()
	}
	fmt.Printf("      %s\n", strings.Join(done, ", "))
	return p.revive()
}

// quiet: what is missing and not needed, as Volcano's definition, is not asked for all the time.
func quiet(p *play) error {
	const polls = 2
	log := newAudit()
	time.Sleep(20 * time.Second)
	var asked []string
	for _, e := range log.read() {
		if e.byOperator() && strings.Contains(e.URI, "scheduling.volcano.sh") {
			asked = append(asked, fmt.Sprintf("%s %s %s %d", e.Received.Format("05.000"), e.Verb, e.URI, e.Status.Code))
		}
	}
	if len(asked) > polls {
		return fmt.Errorf("%d requests for a definition that is not there:\n        %s", len(asked), strings.Join(asked, "\n        "))
	}
	return nil
}
