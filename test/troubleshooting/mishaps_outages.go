// What everybody feels: something that all TrainJobs need is not there.
package main

import (
	"slices"
	"strings"
)

func outages() []mishap {
	job := trainJob("torch", "trainer: {numNodes: 2}")
	startJobSet := func(*stage) error { _, err := control("start jobset"); return err }
	return []mishap{{
		name:    "no-rights",
		title:   "The operator may not make JobSets",
		symptom: everyone,
		todo:    "`cotrain doctor` names the missing right. Apply the roles of the release again (`helm upgrade`, or `kubectl apply -k`).",
		first:   takeRights,
		job:     job,
		names:   []string{`jobsets`, `(?i)forbidden|cannot|rights?`},
		undo: func(s *stage) error {
			err := s.on.Patch(operatorRole, s.kept)
			return err
		},
		turn: after, oursOnly: true,
	}, {
		name:    "jobset-down",
		title:   "JobSet's controller does not run",
		symptom: everyone,
		todo:    "`kubectl get pods -n jobset-system`; `cotrain doctor` looks for the controller, too. TrainJobs go on by themselves when it is back.",
		first:   func(*stage) error { _, err := control("stop jobset"); return err },
		job:     job,
		names:   []string{`(?i)jobset`, `failed calling webhook`},
		undo:    startJobSet,
		turn:    after,
	}, {
		name:    "jobset-in-part",
		title:   "JobSet's CRD is there, its controller was never installed",
		symptom: everyone,
		todo:    "Install JobSet as a whole; `cotrain doctor` says what is missing. TrainJobs go on by themselves then.",
		first: func(s *stage) error {
			_, err := control("stop jobset")
			for _, kind := range []string{"mutating", "validating"} {
				if err == nil {
					err = s.on.Remove(configurations + kind + "webhookconfigurations/jobset")
				}
			}
			return err
		},
		job:   job,
		names: []string{`(?i)does JobSet's controller run`},
		state: "Blocked",
		undo:  startJobSet,
		turn:  after,
	}, {
		name:    "operator-down",
		title:   "The operator does not run",
		symptom: everyone,
		todo:    "`kubectl get pods -n kubeflow-system`, and the log of the Pod that is not ready. TrainJobs that run go on without it.",
		first:   func(s *stage) error { s.operator.stop(); return nil },
		job:     job,
		names:   []string{`failed calling webhook "[a-z.]*trainer\.kubeflow\.org"`},
		undo: func(s *stage) error {
			if err := s.operator.start(); err != nil {
				return err
			}
			return s.operator.ready(s.on)
		},
		turn: after, oursOnly: true,
	}}
}

const operatorRole = "/apis/rbac.authorization.k8s.io/v1/clusterroles/" + operatorAccount

// takeRights leaves the operator without those to write JobSets; it may still watch them.
func takeRights(s *stage) error {
	role, err := s.on.Get(operatorRole)
	if err != nil {
		return err
	}
	s.kept = encode(object{"rules": at(role, "rules")})
	for _, rule := range listAt(role, "rules") {
		if strings.Contains(encode(rule), `"jobsets"`) {
			rule.(object)["verbs"] = slices.DeleteFunc(listAt(rule, "verbs"), func(verb any) bool { return verb == "create" || verb == "patch" })
		}
	}
	err = s.on.Replace(operatorRole, role)
	return err
}
