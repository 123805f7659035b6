// The guard: a second process that waits for the end of the first one, then kills every process of that run and
// removes its temporary directories. It is what helps after a SIGKILL, when nobody else can tidy up.
package process

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// GuardCommand is the argument that makes a program run GuardMain.
	GuardCommand = "__guard"
	// GuardedPrefix starts the name of every directory the guard may remove: a wrong line cannot cost more than that.
	GuardedPrefix = "cotrain-controlplane-"
	// runVariable is in the environment of all processes of a run. Unlike a process group it is there before the
	// guard is told anything, and descendants keep it when they leave the group.
	runVariable = "COTRAIN_TEST_RUN"

	tidyTimeout = 10 * time.Second
)

// Guard is the parent's end of the pipe to the guard.
type Guard struct {
	mutex sync.Mutex
	pipe  io.WriteCloser
	done  chan struct{}
}

// StartGuard runs the same program again as guard, and marks our own environment, which children inherit. The guard
// is in a session of its own, so that Ctrl-C does not reach it, and belongs to no run, ours or one around us.
func StartGuard() (*Guard, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if err := os.Unsetenv(runVariable); err != nil {
		return nil, err
	}
	command := exec.Command(self, GuardCommand)
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	command.Dir = "/"
	pipe, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start the guard: %w", err)
	}
	guard := &Guard{pipe: pipe, done: make(chan struct{})}
	go func() { _ = command.Wait(); close(guard.done) }()
	run := fmt.Sprintf("%d-%s", os.Getpid(), rand.Text())
	guard.say("run", run)
	return guard, os.Setenv(runVariable, run)
}

func (g *Guard) say(verb, what string) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	fmt.Fprintf(g.pipe, "%s %s\n", verb, what)
}

// Remove tells the guard which directory to remove at the end.
func (g *Guard) Remove(dir string) { g.say("remove", dir) }

// Close returns when the guard has done its work.
func (g *Guard) Close() {
	_ = g.pipe.Close()
	<-g.done
}

// GuardMain reads what to guard until the other side is gone, then tidies up.
func GuardMain(pipe io.Reader) {
	var runs, dirs []string
	for lines := bufio.NewScanner(pipe); lines.Scan(); {
		verb, what, _ := strings.Cut(lines.Text(), " ")
		switch {
		case verb == "run" && what != "":
			runs = append(runs, what)
		case verb == "remove" && strings.HasPrefix(filepath.Base(what), GuardedPrefix):
			dirs = append(dirs, what)
		}
	}
	for _, run := range runs {
		killRun(run)
	}
	for _, dir := range dirs {
		_ = os.RemoveAll(dir)
	}
}

// killRun goes over all processes until none of the run is left: one that was killed may have had a child meanwhile.
func killRun(run string) {
	mark := []byte("\x00" + runVariable + "=" + run + "\x00")
	for end := time.Now().Add(tidyTimeout); time.Now().Before(end); {
		found := false
		environments, _ := filepath.Glob("/proc/[1-9]*/environ")
		for _, path := range environments {
			text, err := os.ReadFile(path)
			if err != nil || !bytes.Contains(append([]byte{0}, text...), mark) {
				continue // somebody else's, or ended: then its environment is empty
			}
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			if pid > 1 && pid != os.Getpid() {
				_ = syscall.Kill(pid, syscall.SIGKILL)
				found = true
			}
		}
		if !found {
			return
		}
	}
}
