// The run of the faults: operators behind proxies, TrainJobs that come and go, and the judgement after each fault.
package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"
)

// actor is an operator and its way to the API server.
type actor struct {
	*operator
	way *proxy
}

// play is what a fault acts on.
type play struct {
	*group
	actors []*actor
	random *rand.Rand
	number int
	gone   map[string]bool // TrainJobs that were deleted on purpose
	log    *audit
}

func (g *group) runFaults(pattern *regexp.Regexp) error {
	fmt.Printf("seed %d\n", g.seed)
	begun := time.Now()
	p := &play{group: g, random: rand.New(rand.NewPCG(g.seed, 1)), gone: map[string]bool{}}
	if err := p.prepare(); err != nil {
		return err
	}
	steady := watchTerminal(g.admin, faultNamespace)
	defer steady.stop()
	casts := []struct {
		elections map[string]string
		list      []fault
	}{
		{map[string]string{"solo": ""}, faults()},
		{map[string]string{"patient": longElection}, patientFaults()},
		{map[string]string{"one": shortElection, "two": shortElection}, pairFaults()},
	}
	fmt.Printf("%-24s %-5s %8s %8s  %s\n", "fault", "", "right in", "at most", "what is wrong")
	var err error
	for _, each := range casts {
		chosen := slices.DeleteFunc(each.list, func(f fault) bool { return !pattern.MatchString(f.id()) })
		if err != nil || len(chosen) == 0 {
			continue
		}
		if err = p.cast(each.elections); err == nil {
			err = p.all(chosen, steady)
			p.dismiss()
		}
	}
	p.nothingLeft()
	fmt.Printf("all faults in %.0f s, seed %d\n", time.Since(begun).Seconds(), g.seed)
	return err
}

// prepare makes the namespace; webhooks are ignored while the operator is away.
func (p *play) prepare() error {
	for _, path := range []string{mutating, validating} {
		found, err := p.admin.Get(path)
		if err != nil {
			return err
		}
		for _, hook := range at(found, "webhooks").([]any) {
			hook.(object)["failurePolicy"] = "Ignore"
			hook.(object)["timeoutSeconds"] = 1
		}
		if err := p.admin.Replace(path, found); err != nil {
			return err
		}
	}
	if err := space(p.admin, faultNamespace); err != nil {
		return err
	}
	return p.collects()
}

// collects waits until the garbage collector knows the kinds that are new to it, for which it looks every half minute.
func (p *play) collects() error {
	job, err := p.admin.Create(jobsIn(faultNamespace), trainJob("collected", "torch", ""))
	if err != nil {
		return err
	}
	for list, text := range map[string]string{configMapsIn(faultNamespace): `{"metadata":%s}`, jobSetsIn(faultNamespace): `{"apiVersion":"jobset.x-k8s.io/v1alpha2",
"kind":"JobSet","metadata":%s,"spec":{"suspend":true,"replicatedJobs":[]}}`} {
		owner := []object{{"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "name": "collected", "uid": uidOf(job)}}
		meta := encode(object{"name": "collected", "ownerReferences": owner})
		if _, err := p.admin.Create(list, fmt.Sprintf(text, meta)); err != nil {
			return err
		}
	}
	if err := p.admin.Remove(jobsIn(faultNamespace) + "/collected"); err != nil {
		return err
	}
	if !until(2*time.Minute, func() bool {
		_, one := p.admin.Get(configMapsIn(faultNamespace) + "/collected")
		_, two := p.admin.Get(jobSetsIn(faultNamespace) + "/collected")
		return codeOf(one) == 404 && codeOf(two) == 404
	}) {
		return fmt.Errorf("the garbage collector does not work")
	}
	return nil
}

// cast starts operators, each as an account of its own and over a proxy of its own.
func (p *play) cast(elections map[string]string) error {
	_ = p.admin.Remove(lease)
	p.actors = nil
	var subjects []object
	for name := range elections {
		account := object{"kind": "ServiceAccount", "name": "operator-" + name, "namespace": operatorNamespace}
		subjects = append(subjects, account)
	}
	for _, path := range []string{roleBinding, rbac + "/namespaces/" + operatorNamespace + "/rolebindings/kubeflow-trainer-controller-manager"} {
		found, err := p.admin.Get(path)
		if err != nil {
			return err
		}
		found["subjects"] = subjects
		if err := p.admin.Replace(path, found); err != nil {
			return err
		}
	}
	for name, election := range elections {
		way, err := newProxy(p.admin.Base)
		if err != nil {
			return err
		}
		on, err := newOperator(p.dir, name, p.binary, way.url(), "operator-"+name, election, nil)
		if err != nil {
			return err
		}
		if err := aimWebhooks(p.admin, on.ports.webhook); err != nil {
			return err
		}
		if err := on.start(); err != nil {
			return err
		}
		p.actors = append(p.actors, &actor{on, way})
	}
	p.churn()
	if _, fault := p.right(40 * time.Second); fault != "" {
		return fmt.Errorf("before any fault: %s\n%s", fault, p.actors[0].lastWords())
	}
	return nil
}

func (p *play) dismiss() {
	for _, each := range p.actors {
		each.way.heal()
		if each.running() {
			each.stop()
		}
	}
}

func (p *play) all(list []fault, steady *terminal) error {
	for _, f := range list {
		p.log = newAudit()
		old := len(steady.seen())
		p.churn()
		failure := f.run(p)
		said, err := p.restartEnded()
		if err != nil {
			return err
		}
		took, fault := p.right(max(f.within, 40*time.Second))
		if failure != nil {
			said = append(said, failure.Error())
		}
		if fault != "" {
			said = append(said, fault)
		} else if took > f.within {
			said = append(said, "too late")
		}
		if by := writersFault(p.log.read()); by != "" {
			said = append(said, by)
		}
		said = append(said, steady.seen()[old:]...)
		more, err := p.restartEnded()
		if err != nil {
			return err
		}
		said = append(said, more...)
		verdict := "ok"
		if len(said) > 0 {
			verdict = "FAIL"
			p.failed = append(p.failed, f.id())
			p.keepLogs(f)
		}
		fmt.Printf("%-24s %-5s %6.1f s %6.0f s %s\n", f.name, verdict, took.Seconds(), f.within.Seconds(), listed(said))
	}
	return nil
}

// keepLogs leaves in the tree what the operators said and what the API server was asked, to debug a fault.
func (p *play) keepLogs(f fault) {
	kept := filepath.Join(p.top, "build", "test-logs", "fault-"+f.id())
	_ = os.MkdirAll(kept, 0o755)
	files := map[string]string{"audit": os.Getenv("COTRAIN_TEST_AUDIT")}
	for _, each := range p.actors {
		files[each.name+".log"] = each.log
	}
	for name, file := range files {
		text, _ := os.ReadFile(file)
		_ = os.WriteFile(filepath.Join(kept, name), text, 0o600)
	}
}

// restartEnded starts again who ended though nobody asked for it, and says so.
func (p *play) restartEnded() (said []string, err error) {
	for _, each := range p.actors {
		if err == nil && !each.running() {
			said = append(said, each.name+" ended: "+each.how+"\n"+each.lastWords())
			err = each.start()
		}
	}
	return said, err
}

// right waits until the cluster is right; how long that took, and what is wrong in the end.
func (p *play) right(within time.Duration) (time.Duration, string) {
	begun, fault := time.Now(), ""
	until(within, func() bool { fault = wrong(p.admin, faultNamespace, false); return fault == "" })
	return time.Since(begun), fault
}

// nothingLeft: in the end nothing belongs to a TrainJob that is gone.
func (p *play) nothingLeft() {
	fault := ""
	until(90*time.Second, func() bool { fault = wrong(p.admin, faultNamespace, true); return fault == "" })
	if fault != "" {
		fmt.Printf("      - FAIL: %s\n", fault)
		p.failed = append(p.failed, "collected")
	}
}

// churn makes three jobs, completes one that is there and deletes another.
func (p *play) churn() {
	for range 3 {
		p.number++
		name := fmt.Sprintf("job-%d", p.number)
		_ = insist(30*time.Second, func() error {
			_, err := p.admin.Create(jobsIn(faultNamespace), trainJob(name, "torch", ""))
			return err
		})
	}
	if p.number > 6 {
		p.complete(fmt.Sprintf("job-%d", p.number-5))
		p.delete(fmt.Sprintf("job-%d", p.number-6))
	}
}

func (p *play) complete(name string) {
	now := time.Now().UTC().Format(time.RFC3339)
	status := `{"status":{"conditions":[{"type":"Completed","status":"True","reason":"AllJobsCompleted","message":"done","lastTransitionTime":"` + now + `"}]}}`
	_ = insist(30*time.Second, func() error { return p.admin.Patch(jobSetsIn(faultNamespace)+"/"+name+"/status", status) })
}

func (p *play) delete(name string) {
	p.gone[name] = true
	_ = insist(30*time.Second, func() error { return p.admin.Remove(jobsIn(faultNamespace) + "/" + name) })
}
