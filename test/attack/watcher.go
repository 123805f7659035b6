// Asks the operator again and again what it owes to everybody else, and remembers how long each answer took.
package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	healthWithin = time.Second
	reviewWithin = 10 * time.Second // what the API server gives a webhook
	jobSetWithin = 15 * time.Second
	givenUpAfter = 30 * time.Second

	legitimate = "legit"
)

type probe int

const (
	healthProbe probe = iota
	reviewProbe
	jobProbe
)

func (p probe) String() string { return [...]string{"health", "review", "new TrainJob"}[p] }

type sample struct {
	what  probe
	begun time.Time
	took  time.Duration // without what other processes took of the CPU
	err   error
}

type watcher struct {
	admin  *api
	target *operator
	mutex  sync.Mutex
	all    []sample
	stop   context.CancelFunc
	done   sync.WaitGroup
}

// watch begins; the target may end and be started again meanwhile, which shows in what is found.
func watch(admin *api, target *operator) *watcher {
	ctx, stop := context.WithCancel(context.Background())
	w := &watcher{admin: admin, target: target, stop: stop}
	w.repeat(ctx, healthProbe, 50*time.Millisecond, w.askHealth)
	w.repeat(ctx, reviewProbe, 250*time.Millisecond, w.askReview)
	w.repeat(ctx, jobProbe, 500*time.Millisecond, w.askJob())
	return w
}

func (w *watcher) end() {
	w.stop()
	w.done.Wait()
}

func (w *watcher) repeat(ctx context.Context, what probe, pause time.Duration, ask func() error) {
	w.done.Add(1)
	go func() {
		defer w.done.Done()
		for ctx.Err() == nil {
			begun, starved := time.Now(), w.target.starved()
			err := ask()
			took := time.Since(begun)
			if lost := w.target.starved() - starved; lost > 0 {
				took = max(0, took-lost)
			}
			w.mutex.Lock()
			w.all = append(w.all, sample{what, begun, took, err})
			w.mutex.Unlock()
			time.Sleep(pause)
		}
	}()
}

func (w *watcher) askHealth() error { return w.target.healthy("/healthz", givenUpAfter) }

// askReview sends a review by itself over a new connection, and one through the API server.
func (w *watcher) askReview() error {
	if err := w.reviewDirectly(); err != nil {
		return fmt.Errorf("directly: %w", err)
	}
	_, err := w.admin.Create(jobsIn(legitimate)+"?dryRun=All", trainJob("dry", "torch", ""))
	return err
}

func (w *watcher) reviewDirectly() error {
	client := http.Client{Timeout: givenUpAfter, Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: anyServer("http/1.1")}}
	url := fmt.Sprintf("https://127.0.0.1:%d%s", w.target.ports.webhook, validateJob)
	answer, err := client.Post(url, jsonType, strings.NewReader(review(legitimate, "direct", torchJob)))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode != 200 || !strings.Contains(string(said), `"allowed":true`) {
		return fmt.Errorf("%d %.200s", answer.StatusCode, said)
	}
	return nil
}

// askJob makes a TrainJob and waits for its JobSet.
func (w *watcher) askJob() func() error {
	number := 0
	return func() error {
		number++
		name := fmt.Sprintf("w-%d", number)
		if _, err := w.admin.Create(jobsIn(legitimate), trainJob(name, "torch", "")); err != nil {
			return err
		}
		if !until(givenUpAfter, func() bool { _, err := w.admin.Get(jobSetsIn(legitimate) + "/" + name); return err == nil }) {
			return fmt.Errorf("no JobSet after %s", givenUpAfter)
		}
		_ = w.admin.Remove(jobsIn(legitimate) + "/" + name)
		_ = w.admin.Remove(jobSetsIn(legitimate) + "/" + name)
		_ = w.admin.Remove(configMapsIn(legitimate) + "/" + name + "-runtime-snapshot")
		return nil
	}
}

// covers waits until something of each sort was asked after `from`; false when it takes too long.
func (w *watcher) covers(from time.Time) bool {
	return until(2*givenUpAfter, func() bool {
		w.mutex.Lock()
		defer w.mutex.Unlock()
		var seen [3]bool
		for _, s := range w.all {
			seen[s.what] = seen[s.what] || s.begun.After(from)
		}
		return seen[0] && seen[1] && seen[2]
	})
}

// judge looks at what was asked between the two: the longest wait for health, and what was not as it should be.
func (w *watcher) judge(from, to time.Time) (worst time.Duration, faults []string) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	most := map[probe]time.Duration{healthProbe: healthWithin, reviewProbe: reviewWithin, jobProbe: reviewWithin + jobSetWithin}
	said := map[probe]int{}
	for _, s := range w.all {
		if s.begun.After(to) || s.begun.Add(s.took).Before(from) {
			continue
		}
		if s.what == healthProbe {
			worst = max(worst, s.took)
		}
		why := ""
		if s.err != nil {
			why = s.err.Error()
		} else if s.took > most[s.what] {
			why = fmt.Sprintf("took %.1f s", s.took.Seconds())
		}
		if why == "" {
			continue
		}
		if said[s.what]++; said[s.what] == 1 {
			faults = append(faults, fmt.Sprintf("%s: %s", s.what, why))
		}
	}
	for what, times := range said {
		if times > 1 {
			faults = append(faults, fmt.Sprintf("%s: %d times", what, times))
		}
	}
	return worst, faults
}
