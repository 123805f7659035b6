// Package process runs children that cannot outlive their parent: each leads its own process group, the kernel kills
// it when the parent dies (PR_SET_PDEATHSIG), and a guard (guard.go) takes its descendants and the data along.
package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Spec says what to run.
type Spec struct {
	Name string
	Path string
	Args []string
	Env  []string // added to the parent's environment
	Dir  string
	Log  string // standard output and error are appended here; empty: the parent's are used
	// Terminal makes the child the terminal's foreground group when standard input is one, so that it may read and
	// gets Ctrl-C. Only for a child whose Log is empty.
	Terminal bool
}

// Process is a started child.
type Process struct {
	Spec Spec
	Pid  int
	done chan struct{}
	err  error
}

// The kernel sends the death signal when the forking *thread* ends, and Go ends threads as it likes. So every child
// is forked from one thread that stays.
var (
	forks     = make(chan func())
	forksOnce sync.Once
)

func onForkThread(f func()) {
	forksOnce.Do(func() {
		go func() {
			runtime.LockOSThread()
			for f := range forks {
				f()
			}
		}()
	})
	finished := make(chan struct{})
	forks <- func() { f(); close(finished) }
	<-finished
}

// Start forks the child.
func Start(spec Spec) (*Process, error) {
	command := exec.Command(spec.Path, spec.Args...)
	command.Dir = spec.Dir
	command.Env = append(os.Environ(), spec.Env...)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	terminal := spec.Terminal && spec.Log == "" && foreground(os.Stdin)
	if spec.Log == "" {
		command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
		if terminal {
			command.SysProcAttr.Foreground = true
			command.SysProcAttr.Ctty = int(os.Stdin.Fd())
		}
	} else {
		log, err := os.OpenFile(spec.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			return nil, err
		}
		defer log.Close()
		command.Stdout, command.Stderr = log, log
	}
	var err error
	onForkThread(func() { err = command.Start() })
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	process := &Process{Spec: spec, Pid: command.Process.Pid, done: make(chan struct{})}
	go func() {
		awaitEnd(process.Pid)
		_ = syscall.Kill(-process.Pid, syscall.SIGKILL)
		process.err = command.Wait()
		if terminal {
			reclaimTerminal()
		}
		close(process.done)
	}()
	return process, nil
}

// awaitEnd returns when the child has ended but before it is reaped: until then its number, and so its group's,
// belongs to nobody else, and descendants it left behind can be killed safely.
func awaitEnd(pid int) {
	const pPid, wExited, wNoWait = 1, 4, 0x1000000
	for {
		_, _, failed := syscall.Syscall6(syscall.SYS_WAITID, pPid, uintptr(pid), 0, wExited|wNoWait, 0, 0)
		if failed != syscall.EINTR {
			return
		}
	}
}

// Done is closed when the child has ended and was reaped.
func (p *Process) Done() <-chan struct{} { return p.done }

// Alive tells whether the child has not ended.
func (p *Process) Alive() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// ExitCode waits for the end and returns the code a shell would: 128 plus the signal's number for a killed child.
func (p *Process) ExitCode() int {
	<-p.done
	var exit *exec.ExitError
	if errors.As(p.err, &exit) {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			return 128 + int(status.Signal())
		}
		return exit.ExitCode()
	}
	if p.err != nil {
		return 1
	}
	return 0
}

// Reason says in words how the child ended.
func (p *Process) Reason() string {
	<-p.done
	if p.err == nil {
		return "exit status 0"
	}
	return p.err.Error()
}

// Signal goes to the whole process group of a child that has not ended.
func (p *Process) Signal(signal syscall.Signal) {
	if p.Alive() {
		_ = syscall.Kill(-p.Pid, signal)
	}
}

// Stop asks with SIGTERM, insists with SIGKILL after the grace period, and returns when the child was reaped.
func (p *Process) Stop(grace time.Duration) {
	if grace > 0 {
		p.Signal(syscall.SIGTERM)
		p.Signal(syscall.SIGCONT) // a paused child would never see the request
		select {
		case <-p.done:
			return
		case <-time.After(grace):
		}
	}
	p.Signal(syscall.SIGKILL)
	<-p.done
}

// maxTailBytes bounds what is read back of a log.
const maxTailBytes = 16 << 10

// LogTail returns the last lines of the child's log, for an error message.
func (p *Process) LogTail(lines int) string {
	file, err := os.Open(p.Spec.Log)
	if err != nil {
		return ""
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() > maxTailBytes {
		_, _ = file.Seek(-maxTailBytes, io.SeekEnd)
	}
	text, _ := io.ReadAll(io.LimitReader(file, maxTailBytes))
	all := strings.Split(strings.TrimSpace(string(text)), "\n")
	return filepath.Base(p.Spec.Log) + ": " + strings.Join(all[max(0, len(all)-lines):], "\n  ")
}
