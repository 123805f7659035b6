// One component and its life: started, awaited, watched, and stopped or paused on command.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"cotrain.dev/controlplane/internal/process"
)

const (
	stopGrace    = 20 * time.Second // the API server drains its requests after SIGTERM
	etcdGrace    = time.Second      // it would wait for its clients, who do not go
	logTailLines = 5
)

// part is one component; spec and ready do not change over restarts.
type part struct {
	name  string
	spec  process.Spec
	grace time.Duration
	ready func(context.Context) error // returns when the component can be used

	mutex   sync.Mutex
	process *process.Process // the last one started
	wanted  bool             // its end is a failure
	paused  bool
}

// launch forks the component unless it runs.
func (p *part) launch(failed chan<- error) (*process.Process, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.process != nil && p.process.Alive() {
		return nil, fmt.Errorf("%s is running already", p.name)
	}
	started, err := process.Start(p.spec)
	if err != nil {
		return nil, err
	}
	p.process, p.wanted, p.paused = started, true, false
	go func() {
		<-started.Done()
		p.mutex.Lock()
		defer p.mutex.Unlock()
		if p.wanted && p.process == started {
			select {
			case failed <- fmt.Errorf("%s ended by itself: %s\n  %s", p.name, started.Reason(), started.LogTail(logTailLines)):
			default: // only the first failure counts, the others follow from it
			}
		}
	}()
	return started, nil
}

// running gives the process if there is one that has not ended; unwanted says that its end is expected from now on.
func (p *part) running(unwanted bool) *process.Process {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.process == nil || !p.process.Alive() {
		return nil
	}
	if unwanted {
		p.wanted = false
	}
	return p.process
}

// stop asks with SIGTERM unless grace is zero, then kills; it reports whether there was something to stop.
func (p *part) stop(grace time.Duration) bool {
	running := p.running(true)
	if running == nil {
		return false
	}
	running.Stop(grace)
	return true
}

// pause freezes (or thaws) the component: its sockets stay open and say nothing.
func (p *part) pause(on bool) error {
	running := p.running(false)
	if running == nil {
		return fmt.Errorf("%s is not running", p.name)
	}
	signal := syscall.SIGCONT
	if on {
		signal = syscall.SIGSTOP
	}
	running.Signal(signal)
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.paused = on
	return nil
}

// serving tells whether the component runs and is not paused.
func (p *part) serving() bool {
	running := p.running(false)
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return running != nil && !p.paused
}

func (p *part) state() string {
	running := p.running(false)
	p.mutex.Lock()
	defer p.mutex.Unlock()
	switch {
	case running == nil:
		return p.name + "=stopped"
	case p.paused:
		return fmt.Sprintf("%s=paused:%d", p.name, running.Pid)
	default:
		return fmt.Sprintf("%s=running:%d", p.name, running.Pid)
	}
}

// run launches the component and waits until it is ready, but no longer than it lives.
func (c *Cluster) run(ctx context.Context, part *part) error {
	started, err := part.launch(c.Failed)
	if err != nil {
		return err
	}
	bounded, cancel := c.bounded(ctx)
	defer cancel()
	alive, ended := context.WithCancelCause(bounded)
	go func() {
		select {
		case <-started.Done():
			ended(errors.New("it ended"))
		case <-alive.Done():
		}
	}()
	defer ended(nil)
	if err := part.ready(alive); err != nil {
		if !started.Alive() {
			err = errors.New(started.Reason())
		}
		return fmt.Errorf("%s did not become ready: %w\n  %s", part.name, err, started.LogTail(logTailLines))
	}
	return nil
}
