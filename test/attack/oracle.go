// What must be in the cluster, whatever happened: each TrainJob has its children and nobody else has any, what is over
// stays over, and only the holder of the Lease has written.
package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// insist repeats what fails while the API server is away.
func insist(within time.Duration, what func() error) error {
	var last error
	if until(within, func() bool { last = what(); return last == nil || codeOf(last) == 409 || codeOf(last) == 404 }) {
		return nil
	}
	return last
}

// wrong is the first thing that is not as it must be in the namespace; empty when all is right. What is left of a
// TrainJob that is gone is the garbage collector's, which has its own time: it counts where `collected` is set.
func wrong(a *api, ns string, collected bool) string {
	jobs, err := a.Items(jobsIn(ns))
	if err != nil {
		return err.Error()
	}
	sets, err := a.Items(jobSetsIn(ns))
	if err != nil {
		return err.Error()
	}
	maps, err := a.Items(configMapsIn(ns))
	if err != nil {
		return err.Error()
	}
	living := map[string]object{}
	for _, job := range jobs {
		living[uidOf(job)] = job
	}
	setOf, mapOf := map[string]object{}, map[string]int{}
	for kind, all := range map[string][]object{"JobSet": sets, "ConfigMap": maps} {
		for _, each := range all {
			owner := text(each, "metadata", "ownerReferences", 0, "uid")
			if text(each, "metadata", "ownerReferences", 0, "kind") != "TrainJob" {
				continue
			}
			if living[owner] == nil {
				if !collected {
					continue
				}
				return fmt.Sprintf("%s %s belongs to a TrainJob that is gone", kind, nameOf(each))
			}
			if kind == "ConfigMap" {
				if strings.HasSuffix(nameOf(each), "-runtime-snapshot") {
					mapOf[owner]++
				}
			} else if setOf[owner] != nil {
				return fmt.Sprintf("TrainJob %s has two JobSets", nameOf(living[owner]))
			} else {
				setOf[owner] = each
			}
		}
	}
	for uid, job := range living {
		if strings.HasPrefix(nameOf(job), "foreign") {
			continue
		}
		if fault := wrongWith(job, setOf[uid], mapOf[uid]); fault != "" {
			return fault
		}
	}
	return ""
}

func wrongWith(job, set object, maps int) string {
	if at(job, "metadata", "deletionTimestamp") != nil {
		return "TrainJob " + nameOf(job) + " is not gone yet"
	}
	if set == nil {
		return "TrainJob " + nameOf(job) + " has no JobSet"
	}
	if maps != 1 {
		return fmt.Sprintf("TrainJob %s has %d snapshots", nameOf(job), maps)
	}
	if at(job, "spec", "suspend") != at(set, "spec", "suspend") {
		return "TrainJob " + nameOf(job) + " and its JobSet differ in suspend"
	}
	done, _ := condition(set, "Completed")
	told, _ := condition(job, "Complete")
	if done == "True" && told != "True" {
		return "TrainJob " + nameOf(job) + " is not told that it is complete"
	}
	return ""
}

// terminal looks all the time whether what is complete stays so.
type terminal struct {
	mutex  sync.Mutex
	faults []string
	stop   context.CancelFunc
}

func watchTerminal(a *api, ns string) *terminal {
	ctx, stop := context.WithCancel(context.Background())
	t := &terminal{stop: stop}
	go func() {
		ended := map[string]bool{}
		for ctx.Err() == nil {
			jobs, err := a.Items(jobsIn(ns))
			for _, job := range jobs {
				status, _ := condition(job, "Complete")
				if ended[uidOf(job)] && status != "True" && err == nil {
					t.mutex.Lock()
					t.faults = append(t.faults, "TrainJob "+nameOf(job)+" was complete and is not any more")
					t.mutex.Unlock()
				}
				ended[uidOf(job)] = status == "True"
			}
			time.Sleep(200 * time.Millisecond)
		}
	}()
	return t
}

func (t *terminal) seen() []string {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return slices.Clone(t.faults)
}

// writersFault names a write by somebody who did not hold the Lease when the request came in. Who wrote the Lease last
// holds it; Events and the certificate's objects are everybody's.
func writersFault(log []entry) string {
	slices.SortStableFunc(log, func(a, b entry) int { return a.Received.Compare(b.Received) })
	holder := ""
	for _, e := range log {
		free := e.ObjectRef.Resource == "events" || e.ObjectRef.Namespace == operatorNamespace ||
			strings.HasSuffix(e.ObjectRef.Resource, "webhookconfigurations")
		switch {
		case e.ObjectRef.Resource == "leases" && e.Verb == "delete" && e.Status.Code < 400:
			holder = ""
		case !e.byOperator() || !e.writes() || e.Status.Code >= 400 || e.Status.Code == 0:
		case e.ObjectRef.Resource == "leases":
			holder = e.User.Username
		case free || e.ObjectRef.Resource == "tokenreviews" || e.ObjectRef.Resource == "subjectaccessreviews":
		case holder != "" && e.User.Username != holder:
			return fmt.Sprintf("%s wrote %s %s at %s while %s held the Lease", e.User.Username, e.ObjectRef.Resource, e.ObjectRef.Name,
				e.Received.Format("15:04:05.000"), holder)
		}
	}
	return ""
}
