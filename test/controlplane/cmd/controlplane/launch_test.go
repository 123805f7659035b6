// What the tests of the command share: running it as a process of its own, out of this very test binary.
package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"cotrain.dev/controlplane/internal/process"
)

const (
	actAsCommand = "COTRAIN_ACT_AS_CONTROLPLANE"
	patience     = 60 * time.Second
)

func TestMain(m *testing.M) {
	if os.Getenv(actAsCommand) != "" {
		main()
		return
	}
	// Orphans of a killed launcher become ours, so that their end can be waited for.
	const prSetChildSubreaper = 36
	if _, _, failed := syscall.Syscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0); failed != 0 {
		panic(failed)
	}
	os.Exit(m.Run())
}

// launcher is a running command.
type launcher struct {
	*exec.Cmd
	t      *testing.T
	errors bytes.Buffer
	stdin  *os.File
	lines  *bufio.Reader
}

// launch starts the command with the binaries of $COTRAIN_KUBE_BIN.
func launch(t *testing.T, arguments ...string) *launcher {
	t.Helper()
	bin := os.Getenv("COTRAIN_KUBE_BIN")
	if bin == "" {
		t.Fatal("COTRAIN_KUBE_BIN is not set: run test/controlplane/build.sh test")
	}
	if arguments[0] == "up" || arguments[0] == "exec" {
		arguments = append([]string{arguments[0], "--bin", bin}, arguments[1:]...)
	}
	l := &launcher{t: t, Cmd: exec.Command(os.Args[0], arguments...)}
	l.Env = append(os.Environ(), actAsCommand+"=1")
	l.Stderr = &l.errors
	l.WaitDelay = patience // a descendant that got away holds standard error open
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := l.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	l.Stdin, l.stdin, l.lines = reader, writer, bufio.NewReader(output)
	if err := l.Start(); err != nil {
		t.Fatal(err)
	}
	reader.Close()
	t.Cleanup(func() {
		writer.Close()
		if l.ProcessState == nil {
			_ = l.Process.Kill()
			_ = l.Wait()
		}
	})
	return l
}

// line is the next one of standard output, "" at its end.
func (l *launcher) line() string {
	text, _ := l.lines.ReadString('\n')
	return strings.TrimSpace(text)
}

// ready waits for up's line.
func (l *launcher) ready() {
	l.t.Helper()
	if text := l.line(); !strings.HasPrefix(text, "ready https://127.0.0.1:") {
		_ = l.Wait()
		l.t.Fatalf("not ready: %q %s", text, l.errors.String())
	}
}

// code waits for the end, and checks that nothing is left: no process, no data in memory.
func (l *launcher) code() int {
	l.t.Helper()
	err := l.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		l.t.Fatal(err)
	}
	l.nothingRuns()
	if left := l.data(); len(left) > 0 {
		l.t.Errorf("data left over: %v", left)
	}
	return l.ProcessState.ExitCode()
}

func (l *launcher) nothingRuns() {
	l.t.Helper()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		for {
			if _, err := syscall.Wait4(-1, nil, 0, nil); err == syscall.ECHILD {
				return
			}
		}
	}()
	select {
	case <-gone:
	case <-time.After(patience):
		l.t.Errorf("left over: %v", children(os.Getpid()))
		for pid := range children(os.Getpid()) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		<-gone
	}
}

// children are process numbers with their command lines.
func children(parent int) map[int]string {
	found := map[int]string{}
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", parent))
	for _, task := range tasks {
		text, _ := os.ReadFile(task)
		for _, word := range strings.Fields(string(text)) {
			line, _ := os.ReadFile("/proc/" + word + "/cmdline")
			pid, _ := strconv.Atoi(word)
			found[pid] = strings.ReplaceAll(string(line), "\x00", " ")
		}
	}
	return found
}

// data are the launcher's temporary directories.
func (l *launcher) data() []string {
	var all []string
	for _, parent := range []string{"/dev/shm", os.TempDir()} {
		found, _ := filepath.Glob(fmt.Sprintf("%s/%s%d-*", parent, process.GuardedPrefix, l.Process.Pid))
		all = append(all, found...)
	}
	return all
}

// fails expects exit code and, as the only line, an explanation with this in it.
func (l *launcher) fails(code int, explanation string) {
	l.t.Helper()
	if got := l.code(); got != code {
		l.t.Errorf("%v: exit code %d, not %d", l.Args[1:], got, code)
	}
	text := strings.TrimSpace(l.errors.String())
	if !strings.Contains(text, explanation) || strings.Count(text, "\n") > 0 {
		l.t.Errorf("%v says %q, not one line with %q", l.Args[1:], text, explanation)
	}
}

// env is a value of DIR/env.
func env(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "env"))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(name + "='([^']+)'").FindStringSubmatch(string(text))
	if found == nil {
		t.Fatalf("DIR/env has no %s", name)
	}
	return found[1]
}

// ctl sends a command to the control socket of dir and returns the answer.
func ctl(t *testing.T, dir string, words ...string) string {
	t.Helper()
	command := exec.Command(os.Args[0], append([]string{"ctl"}, words...)...)
	command.Env = append(os.Environ(), actAsCommand+"=1", "COTRAIN_TEST_CONTROL="+env(t, dir, "COTRAIN_TEST_CONTROL"))
	output, err := command.CombinedOutput()
	if err != nil {
		return "failed: " + string(output)
	}
	return strings.TrimSpace(string(output))
}

// kubectl runs against the control plane of dir.
func kubectl(dir string, words ...string) (string, error) {
	command := exec.Command(filepath.Join(os.Getenv("COTRAIN_KUBE_BIN"), "kubectl"), words...)
	command.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(dir, "kubeconfig"))
	output, err := command.CombinedOutput()
	return strings.TrimSpace(string(output)), err
}
