// Command troubleshooting plays what goes wrong with TrainJobs, records what a user sees of it, and writes that into
// docs/troubleshooting.md. A mishap that nothing names is a failure. test/troubleshooting/run.sh starts it.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"cotrain.dev/apiclient"
)

// player has what all mishaps share.
type player struct {
	on       *api
	nodes    *kubelet
	operator *operator // nil: the reference is in charge
	top      string
	patience time.Duration
	mutex    sync.Mutex
	seen     map[string]*record
	faults   []string
	began    time.Time
}

func main() {
	only := flag.String("only", "", "mishaps whose names match")
	binary := flag.String("operator", "", "the program cotrain; none: the reference, which runs already")
	top := flag.String("top", "", "the source tree")
	patience := flag.Duration("patience", 100*time.Second, "how long a cause may stay unnamed: a job is looked into at most once a minute")
	check := flag.Bool("check", false, "change nothing: docs/troubleshooting.md has to be what this run would write")
	again := flag.Bool("again", false, "play nothing: write the page from what the last run recorded in COTRAIN_TEST_DIR")
	list := flag.Bool("list", false, "print the mishaps")
	flag.Parse()
	if *list {
		for _, m := range mishaps() {
			fmt.Printf("%-24s %s\n", m.name, m.title)
		}
		return
	}
	if *again {
		p := &player{top: *top, seen: map[string]*record{}}
		if err := p.writeAgain(); err != nil {
			fmt.Fprintln(os.Stderr, "troubleshooting:", err)
			os.Exit(1)
		}
		return
	}
	if err := run(*only, *binary, *top, *check, *patience); err != nil {
		fmt.Fprintln(os.Stderr, "troubleshooting:", err)
		os.Exit(1)
	}
}

func run(only, binary, top string, check bool, patience time.Duration) error {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	p := &player{top: top, patience: patience, seen: map[string]*record{}, began: time.Now()}
	if p.on, err = apiclient.New(); err != nil {
		return err
	}
	if p.nodes, err = startNodes(p.on); err != nil {
		return err
	}
	if binary != "" {
		if p.operator, err = startOperator(p.on, top, binary); err != nil {
			return err
		}
		defer p.operator.stop()
	}
	if err := p.until(60*time.Second, "runtimes are taken", func() bool {
		_, good := kubectl(sharedRuntimes, "apply", "--server-side", "-f", "-")
		return good
	}); err != nil {
		return err
	}
	p.playAll(pattern)
	fmt.Printf("%d mishaps, %d faults, %.0f s\n", len(p.seen), len(p.faults), time.Since(p.began).Seconds())
	if len(p.faults) > 0 {
		if binary != "" && !check {
			_ = p.writePage(only == "", false) // without those that failed: what can be seen of the others
		}
		return fmt.Errorf("%d faults:\n  %s", len(p.faults), strings.Join(p.faults, "\n  "))
	}
	if binary == "" {
		return p.keepReference(only == "")
	}
	return p.writePage(only == "", check)
}

func (p *player) until(within time.Duration, what string, good func() bool) error {
	if !until(within, good) {
		return fmt.Errorf("%s: not after %s", what, within)
	}
	return nil
}

// playAll plays those that touch their namespace only side by side, the others one after the other, before or after.
func (p *player) playAll(pattern *regexp.Regexp) {
	for _, turn := range []int{before, sideBySide, after} {
		var all sync.WaitGroup
		for _, m := range mishaps() {
			if m.turn != turn || !pattern.MatchString(m.name) || (p.operator == nil && m.oursOnly) {
				continue
			}
			if turn != sideBySide {
				p.play(m)
				continue
			}
			all.Go(func() { p.play(m) })
		}
		all.Wait()
		if turn == before {
			p.note("podgroups", installPodGroups())
		}
	}
}

func (p *player) note(name string, err error) {
	if err != nil {
		p.mutex.Lock()
		defer p.mutex.Unlock()
		p.faults = append(p.faults, name+": "+err.Error())
	}
}

// play makes a mishap, waits until it settles and records it.
func (p *player) play(m mishap) {
	s := &stage{player: p, mishap: m, ns: m.name}
	seen, err := s.play()
	if seen != nil {
		text, _ := json.MarshalIndent(seen, "", "  ")
		_ = os.WriteFile(filepath.Join(os.Getenv("COTRAIN_TEST_DIR"), m.name+".json"), text, 0o644)
		p.mutex.Lock()
		if err == nil || p.operator == nil {
			p.seen[m.name] = seen
		}
		p.mutex.Unlock()
	}
	p.note(m.name, err)
	verdict := "ok"
	if err != nil {
		verdict = "FAIL " + err.Error()
	}
	fmt.Printf("%4.0f s  %-24s %s\n", time.Since(p.began).Seconds(), m.name, verdict)
}
