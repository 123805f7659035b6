// What a tenant can make the operator keep.
package main

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"
)

// fatJobs: what a namespace's specs may take of the operator's memory.
func fatJobs(s *stage) (string, error) {
	const jobs, bytes = 260, 1_000_000
	s.until = time.Now().Add(40 * time.Second)
	var made atomic.Int64
	var number atomic.Int64
	args := `"suspend":true,"trainer":{"args":["` + strings.Repeat("x", bytes) + `"]}`
	crowd(s, 4, func(int) error {
		next := number.Add(1)
		if next > jobs {
			time.Sleep(20 * time.Millisecond)
			if made.Load()+4 >= jobs {
				s.until = time.Now()
			}
			return nil
		}
		if _, err := s.tenant.Create(jobsIn(s.ns), trainJob(fmt.Sprintf("fat-%d", next), "torch", args)); err != nil {
			return err
		}
		made.Add(1)
		return nil
	})
	time.Sleep(attackTime / 2)
	return fmt.Sprintf("%d jobs of %d bytes", made.Load(), bytes), nil
}

// fatStatuses: who may write statuses writes as much as the API server takes, and the operator finds it again when it starts.
func fatStatuses(s *stage) (string, error) {
	const jobs = 200
	conditions := func(job, many, bytes int) string {
		var all []string
		for i := range many {
			all = append(all, fmt.Sprintf(`{"type":"Mine%d","status":"True","reason":"R%d_%d%s","message":%q,"lastTransitionTime":"2026-01-01T00:00:00Z"}`,
				i, job, i, strings.Repeat("r", 1000), strings.Repeat("x", bytes)))
		}
		return strings.Join(all, ",")
	}
	counts := func(job int) string {
		var all []string
		for i := range 2000 {
			all = append(all, fmt.Sprintf(`{"name":"n%d-%d","ready":1,"succeeded":0,"failed":0,"active":1,"suspended":0}`, job, i))
		}
		return strings.Join(all, ",")
	}
	s.until = time.Now().Add(90 * time.Second)
	var number, sent atomic.Int64
	var refused atomic.Value
	crowd(s, 4, func(int) error {
		next := int(number.Add(1))
		if next > jobs {
			s.until = time.Now()
			return nil
		}
		name := fmt.Sprintf("fat-%d", next)
		if err := suspended(s, name); err != nil {
			return err
		}
		for path, status := range map[string]string{
			jobSetsIn(s.ns) + "/" + name: `"conditions":[` + conditions(next, 60, 16_000) + `],"replicatedJobsStatus":[` + counts(next) + `]`,
			jobsIn(s.ns) + "/" + name:    `"conditions":[` + conditions(next, 6, 32_000) + `]`,
		} {
			text := `{"status":{` + status + `}}`
			if err := insist(20*time.Second, func() error { return s.admin.Patch(path+"/status", text) }); err != nil {
				refused.Store(err)
				continue
			}
			sent.Add(int64(len(text)))
		}
		return nil
	})
	time.Sleep(attackTime / 2)
	said := fmt.Sprintf("statuses of %d MB in all", sent.Load()/1_000_000)
	if err, _ := refused.Load().(error); err != nil {
		return said, err
	}
	if !s.on.running() {
		return said, nil
	}
	s.on.stop()
	if err := s.on.start(); err != nil {
		return said, err
	}
	if err := s.group.settle(leadingWithin); err != nil {
		return said + ", then a restart", err
	}
	s.counts = time.Now()
	time.Sleep(attackTime)
	return said + ", then a restart", nil
}

// fatRuntimes: what a namespace's runtimes may take of the operator's memory, and many namespaces' together.
func fatRuntimes(namespaces int) func(*stage) (string, error) {
	return func(s *stage) (string, error) {
		const runtimes, bytes = 230, 1_000_000
		s.until = time.Now().Add(90 * time.Second)
		spaces := []string{s.ns}
		for i := 1; i < namespaces; i++ {
			spaces = append(spaces, fmt.Sprintf("%s-%d", s.ns, i))
			if err := space(s.admin, spaces[i]); err != nil {
				return "", err
			}
		}
		var made, jobs, refused, number atomic.Int64
		env := `"image":"registry.test/torch:1","args":["` + strings.Repeat("x", bytes) + `"]`
		spec := strings.Replace(torchSpec, `"image":"registry.test/torch:1"`, env, 1)
		crowd(s, 4, func(int) error {
			next := number.Add(1)
			if next > runtimes {
				s.until = time.Now()
				return nil
			}
			ns, name := spaces[int(next)%len(spaces)], fmt.Sprintf("fat-%d", next)
			if _, err := s.admin.Create(trainer+"/namespaces/"+ns+"/trainingruntimes", fmt.Sprintf(
				`{"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainingRuntime","metadata":{"name":%q},"spec":%s}`, name, spec)); err != nil {
				return err
			}
			made.Add(1)
			switch _, err := s.admin.Create(jobsIn(ns), trainJob(name, name, `"suspend":true`)); codeOf(err) {
			case 0:
				jobs.Add(1)
			default:
				refused.Add(1)
			}
			return nil
		})
		time.Sleep(attackTime / 2)
		sent := fmt.Sprintf("%d runtimes of %d bytes in %d namespaces, %d jobs on them, %d refused",
			made.Load(), bytes, namespaces, jobs.Load(), refused.Load())
		if made.Load() < runtimes-4 {
			return sent, fmt.Errorf("only %d were made", made.Load())
		}
		return sent, nil
	}
}

// fatRuntimesAtRestart are found by an operator that starts.
func fatRuntimesAtRestart(s *stage) (string, error) {
	sent, err := fatRuntimes(30)(s)
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
