// Command attack runs the operator in a cage of 256 MiB and 1,024 descriptors, does to it what tenants and strangers can
// do, and looks whether everybody else is served meanwhile. test/attack/run.sh starts it; README.md says more.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"cotrain.dev/apiclient"
)

// scenario is one attack. `run` says what it sent, and what it found wrong besides what the watcher sees.
type scenario struct {
	name     string
	item     string // of the list of attacks in README.md
	run      func(*stage) (sent string, err error)
	restarts bool // the operator is started again on purpose; what it owes counts when it leads again
}

// stage is what an attack acts on.
type stage struct {
	admin  *api
	tenant *api // may edit in ns: TrainJobs, ConfigMaps, JobSets …
	owner  *api // may make runtimes in ns as well
	ns     string
	on     *operator
	watch  *watcher
	until  time.Time // attacks that go on do so until then
	counts time.Time // when set: what was owed before does not count
	group  *group
}

func (s *stage) over() bool { return time.Now().After(s.until) }

// group is one run of many scenarios against one operator.
type group struct {
	admin  *api
	on     *operator
	watch  *watcher
	base   int // MiB of a quiet operator
	failed []string
	dir    string
	top    string
	binary string
	seed   uint64
}

const (
	attackTime    = 4 * time.Second
	leadingWithin = 30 * time.Second
	growthMaxMiB  = 64
)

func main() {
	which := flag.String("group", "attacks", "attacks or faults")
	only := flag.String("only", "", "scenarios whose names match")
	binary := flag.String("operator", "", "the program cotrain")
	top := flag.String("top", "", "the source tree")
	seed := flag.Uint64("seed", uint64(time.Now().UnixNano())%1_000_000, "of the faults' order")
	list := flag.Bool("list", false, "print the scenarios")
	flag.Parse()
	if *list {
		for _, s := range attacks() {
			fmt.Printf("%-28s %s\n", s.name, s.item)
		}
		return
	}
	pattern, err := regexp.Compile(*only)
	if err == nil {
		g := &group{dir: os.Getenv("COTRAIN_TEST_DIR"), top: *top, binary: *binary, seed: *seed}
		if g.admin, err = apiclient.New(); err == nil {
			if err = install(*top); err == nil {
				if *which == "faults" {
					err = g.runFaults(pattern)
				} else {
					err = g.runAttacks(pattern)
				}
			}
		}
		if err == nil && len(g.failed) > 0 {
			err = fmt.Errorf("%d failed: %s", len(g.failed), strings.Join(g.failed, ", "))
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "attack:", err)
		os.Exit(1)
	}
}

// named: every attack that SECURITY.md names is one of ours.
func named(top string) error {
	page, err := os.ReadFile(filepath.Join(top, "SECURITY.md"))
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, s := range attacks() {
		known[s.name] = true
	}
	for _, found := range regexp.MustCompile(`attack: ([-a-z0-9]+)`).FindAllStringSubmatch(string(page), -1) {
		if !known[found[1]] {
			return fmt.Errorf("SECURITY.md names the attack %s, which does not exist", found[1])
		}
	}
	return nil
}

func (g *group) runAttacks(pattern *regexp.Regexp) error {
	if err := named(g.top); err != nil {
		return err
	}
	cage := newCage(fmt.Sprintf("cotrain-attack-%d", os.Getpid()))
	defer cage.remove()
	fmt.Printf("the operator runs in %s\n", cage)
	var err error
	if g.on, err = newOperator(g.dir, "operator", g.binary, g.admin.Base, service, "", cage); err != nil {
		return err
	}
	if g.on.flags, err = deployedFlags(g.top); err != nil {
		return err
	}
	if err := aimWebhooks(g.admin, g.on.ports.webhook); err != nil {
		return err
	}
	if err := space(g.admin, legitimate); err != nil {
		return err
	}
	if err := g.begin(); err != nil {
		return err
	}
	defer func() { g.watch.end(); g.on.stop() }()
	begun := time.Now()
	fmt.Printf("%-26s %-5s %7s %6s %6s  %s\n", "attack", "", "health", "peak", "after", "what was sent; what is wrong")
	for _, s := range attacks() {
		if pattern.MatchString(s.name) {
			if err := g.play(s); err != nil {
				return err
			}
		}
	}
	fmt.Printf("all attacks in %.0f s\n", time.Since(begun).Seconds())
	return nil
}

// begin starts the operator and waits until it leads and serves.
func (g *group) begin() error {
	if err := g.on.start(); err != nil {
		return err
	}
	if err := g.settle(leadingWithin); err != nil {
		return fmt.Errorf("%w\n%s", err, g.on.lastWords())
	}
	if g.watch == nil {
		g.watch = watch(g.admin, g.on)
	}
	g.watch.covers(time.Now())
	g.base = g.on.residentMiB()
	return nil
}

// settle waits until the operator leads, is ready and gets a TrainJob through its webhooks.
func (g *group) settle(within time.Duration) error {
	begun := time.Now()
	var last error
	good := until(within, func() bool {
		if !g.on.running() {
			return true
		}
		if last = g.on.healthy("/readyz", time.Second); last != nil {
			return false
		}
		if _, renewed := leads(g.admin); renewed.Before(begun.Add(-time.Second)) {
			last = fmt.Errorf("the Lease was renewed at %s", renewed)
			return false
		}
		_, last = g.admin.Create(jobsIn(legitimate)+"?dryRun=All", trainJob("dry", "torch", ""))
		return last == nil
	})
	if !g.on.running() {
		return fmt.Errorf("the operator ended: %s", g.on.how)
	}
	if !good {
		return fmt.Errorf("after %s: %w", within, last)
	}
	return nil
}

// play runs one scenario and prints its line.
func (g *group) play(s scenario) error {
	ns := "a-" + s.name
	if err := space(g.admin, ns); err != nil {
		return err
	}
	holder, _ := leads(g.admin)
	pid := g.on.pid()
	g.on.forgetPeak()
	at := &stage{admin: g.admin, tenant: g.admin.As("edit-" + ns), owner: g.admin.As("own-" + ns), ns: ns,
		on: g.on, watch: g.watch, until: time.Now().Add(attackTime), group: g}
	from := time.Now()
	at.counts = from
	sent, failure := s.run(at)
	g.watch.covers(at.counts)
	to := time.Now()
	peak := g.on.peakMiB()
	worst, faults := g.watch.judge(at.counts, to)
	if failure != nil {
		faults = append([]string{failure.Error()}, faults...)
	}
	died := !g.on.running()
	if died {
		faults = append([]string{"the operator ended: " + g.on.how}, faults...)
	} else {
		faults = append(faults, g.after(s, holder, pid, to)...)
	}
	verdict := "ok"
	if len(faults) > 0 {
		verdict = "FAIL"
		g.failed = append(g.failed, s.name)
	}
	fmt.Printf("%-26s %-5s %5.2f s %3d MiB %3d MiB  %s%s\n", s.name, verdict, worst.Seconds(), peak, g.on.residentMiB(), sent,
		listed(faults))
	return g.recover(ns, died || len(faults) > 0)
}

func listed(faults []string) string {
	out := ""
	for _, each := range faults {
		out += "\n      - " + each
	}
	return out
}

// after is what must be so when an attack is over.
func (g *group) after(s scenario, holder string, pid int, over time.Time) []string {
	var faults []string
	now := ""
	renewed := until(10*time.Second, func() bool {
		var at time.Time
		now, at = leads(g.admin)
		return at.After(over)
	})
	if !renewed {
		faults = append(faults, "the Lease is not renewed")
	}
	if !s.restarts && now != holder {
		faults = append(faults, fmt.Sprintf("the Lease was %s's and is %s's", holder, now))
	}
	if !s.restarts && g.on.pid() != pid {
		faults = append(faults, "another process")
	}
	if !until(10*time.Second, func() bool { return g.on.residentMiB() <= g.base+growthMaxMiB }) {
		faults = append(faults, fmt.Sprintf("%d MiB are kept, %d MiB before", g.on.residentMiB(), g.base))
	}
	return faults
}

// recover takes away what the attack left, and the operator with it when something was wrong: the next attack finds
// one in good health.
func (g *group) recover(ns string, fresh bool) error {
	if fresh && g.on.running() {
		g.on.kill()
	}
	for _, list := range []string{jobsIn(ns), jobSetsIn(ns), podGroupsIn(ns), configMapsIn(ns), secretsIn(ns),
		trainer + "/namespaces/" + ns + "/trainingruntimes"} {
		_ = g.admin.Remove(list)
	}
	if !fresh {
		return nil
	}
	_ = g.admin.Remove(lease) // whoever held it is gone
	keep := g.on.log + "." + strings.TrimPrefix(ns, "a-")
	_ = os.Rename(g.on.log, keep)
	if base := os.Getenv("COTRAIN_ATTACK_LOGS"); base != "" {
		_ = os.MkdirAll(base, 0o755)
		if content, err := os.ReadFile(keep); err == nil {
			_ = os.WriteFile(filepath.Join(base, filepath.Base(keep)), content[max(0, len(content)-1<<20):], 0o644)
		}
	}
	return g.begin()
}
