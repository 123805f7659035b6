// A mishap, and the namespace in which it is played.
package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	sideBySide = iota // touches its own namespace only
	before            // the definition of PodGroups is not there yet
	after             // takes something away from everybody, and brings it back
)

// symptom is what a user sees first; the page has a section for each.
type symptom string

const (
	refused   symptom = "kubectl refuses the TrainJob"
	blocked   symptom = "No Pod comes, or Pods do not start"
	suspended symptom = "The TrainJob is suspended"
	failed    symptom = "The TrainJob restarts or has failed"
	everyone  symptom = "No TrainJob moves"
)

type mishap struct {
	name     string // of the namespace, and the anchor of the page
	title    string
	symptom  symptom
	todo     string             // for who reads the page at night
	objects  string             // made before the TrainJob, in its namespace
	first    func(*stage) error // done before the TrainJob is made
	job      string             // the TrainJob; where it is empty, play() makes what there is
	play     func(*stage) error
	warns    bool     // what kubectl answers at once is all that there is to say
	names    []string // expressions: each is in what kubectl answers, or in what get and describe show
	state    string   // STATE when it has settled
	turn     int
	oursOnly bool // what is done concerns our operator only
	undo     func(*stage) error
}

type stage struct {
	*player
	mishap
	ns   string
	kept string // what undo() puts back
}

const (
	image      = "registry.test/torch:2.7"
	jobName    = "train"
	podsWithin = 60 * time.Second
	calmFor    = 3 * time.Second
)

// play makes the mishap and waits until what a user sees names its cause, or, under the reference, no longer changes.
func (s *stage) play() (*record, error) {
	if err := s.prepare(); err != nil {
		return nil, err
	}
	var answer string
	good := true
	if s.job != "" {
		answer, good = kubectl(s.job, "-n", s.ns, "create", "-f", "-")
	}
	if s.mishap.play != nil {
		if err := s.mishap.play(s); err != nil {
			return nil, err
		}
	}
	seen, err := s.settle(answer, good)
	if s.undo != nil {
		if undone := s.undo(s); err == nil {
			err = undone
		}
	}
	return seen, err
}

func (s *stage) prepare() error {
	if _, err := s.on.Create(coreAPI+"/namespaces", fmt.Sprintf(`{"metadata":{"name":%q}}`, s.ns)); err != nil {
		return err
	}
	if err := s.player.until(podsWithin, s.ns+": its service account", func() bool {
		_, err := s.on.Get(coreAPI + "/namespaces/" + s.ns + "/serviceaccounts/default")
		return err == nil
	}); err != nil {
		return err
	}
	if s.objects != "" {
		if err := must(s.objects, "-n", s.ns, "apply", "-f", "-"); err != nil {
			return err
		}
	}
	if s.first == nil {
		return nil
	}
	return s.first(s)
}

// settle waits until the cause is named and nothing changes any more, and records that.
func (s *stage) settle(answer string, taken bool) (*record, error) {
	if !taken {
		seen := &record{Answer: clean(s.ns, answer), Refused: true}
		return seen, s.judge(seen)
	}
	var last string
	var seen *record
	since, begun := time.Now(), time.Now()
	for {
		seen = s.look(answer)
		now := encode(seen)
		if now != last {
			last, since = now, time.Now()
		}
		calm := time.Since(since) >= calmFor
		if s.operator == nil {
			calm = calm && time.Since(begun) > 12*time.Second
		}
		if calm && (s.operator == nil || s.judge(seen) == nil) {
			break
		}
		if time.Since(begun) > s.patience {
			return seen, s.judge(seen)
		}
		time.Sleep(500 * time.Millisecond)
	}
	s.complete(seen)
	return seen, s.judge(seen)
}

// judge tells what nobody names. The reference is recorded as it is.
func (s *stage) judge(seen *record) error {
	if s.operator == nil {
		return nil
	}
	shown := seen.shown(s.warns)
	if !seen.Refused && seen.State == "" {
		return fmt.Errorf("STATE is empty; shown:\n%s", indented(shown))
	}
	for _, each := range s.names {
		if !regexp.MustCompile(each).MatchString(shown) {
			return fmt.Errorf("nothing says '%s'; shown:\n%s", each, indented(shown))
		}
	}
	if !seen.Refused && s.state != "" && seen.State != s.state {
		return fmt.Errorf("STATE is '%s', not '%s'; shown:\n%s", seen.State, s.state, indented(shown))
	}
	return nil
}

func indented(text string) string { return "      " + strings.ReplaceAll(text, "\n", "\n      ") }

// pods are those of the TrainJob that are not on their way out, by rank.
func (s *stage) pods() []object {
	found, _ := s.on.Items(coreAPI + "/namespaces/" + s.ns + "/pods")
	found = slices.DeleteFunc(found, func(pod object) bool {
		phase := textAt(pod, "status", "phase")
		return textAt(pod, "metadata", "deletionTimestamp") != "" || phase == "Failed" || phase == "Succeeded"
	})
	slices.SortFunc(found, func(a, b object) int { return strings.Compare(rankOf(a), rankOf(b)) })
	return found
}

func rankOf(pod object) string {
	return textAt(pod, "metadata", "annotations", "batch.kubernetes.io/job-completion-index")
}

// placed waits until so many Pods have a node.
func (s *stage) placed(count int) ([]object, error) {
	var found []object
	err := s.player.until(podsWithin, fmt.Sprintf("%s: %d Pods on nodes", s.ns, count), func() bool {
		found = s.pods()
		return len(found) == count && !slices.ContainsFunc(found, func(pod object) bool { return textAt(pod, "spec", "nodeName") == "" })
	})
	return found, err
}

// become writes a status into a Pod.
func (s *stage) become(pod object, status string) error {
	status = strings.ReplaceAll(status, thisMoment, now())
	return s.on.Patch(coreAPI+"/namespaces/"+s.ns+"/pods/"+nameOf(pod)+"/status", status)
}

// runAll has so many Pods placed, started and ready.
func (s *stage) runAll(count int) ([]object, error) {
	pods, err := s.placed(count)
	for _, pod := range pods {
		if err == nil {
			err = s.become(pod, runs(image))
		}
	}
	return pods, err
}

// kubeletEvent is an event of the Pod in a kubelet's name.
func (s *stage) kubeletEvent(pod object, kind, reason, message string) error {
	_, err := s.on.Create(coreAPI+"/namespaces/"+s.ns+"/events", fmt.Sprintf(`{"metadata":{"generateName":"kubelet."},
"involvedObject":{"kind":"Pod","apiVersion":"v1","namespace":%q,"name":%q,"uid":%q,"fieldPath":"spec.containers{node}"},
"type":%q,"reason":%q,"message":%s,"source":{"component":"kubelet"},"firstTimestamp":%q,"lastTimestamp":%[7]q,"count":1}`,
		s.ns, nameOf(pod), textAt(pod, "metadata", "uid"), kind, reason, quoted(message), now()))
	return err
}
