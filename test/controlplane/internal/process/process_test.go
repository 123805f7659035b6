// Tests of children: how they end, what becomes of their descendants, and what the guard does.
package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const patience = 20 * time.Second

func start(t *testing.T, script string) *Process {
	t.Helper()
	log := filepath.Join(t.TempDir(), "log")
	child, err := Start(Spec{Name: "child", Path: "/bin/sh", Args: []string{"-c", script}, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { child.Stop(0) })
	return child
}

// awaitLine returns the first line of the child's log, as soon as there is one.
func awaitLine(t *testing.T, child *Process) string {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		if text, _ := os.ReadFile(child.Spec.Log); strings.Contains(string(text), "\n") {
			return strings.SplitN(string(text), "\n", 2)[0]
		}
	}
	t.Fatal("the child wrote nothing")
	return ""
}

func TestExitCodesAreTheShells(t *testing.T) {
	cases := map[string]int{"exit 0": 0, "exit 7": 7, "kill -TERM $$": 128 + 15}
	for script, code := range cases {
		if got := start(t, script).ExitCode(); got != code {
			t.Errorf("%q gave %d, not %d", script, got, code)
		}
	}
}

func TestStopInsistsWhenAskingIsIgnored(t *testing.T) {
	child := start(t, `trap "" TERM; echo ready; while :; do sleep 1000; done`)
	awaitLine(t, child)
	child.Stop(50 * time.Millisecond)
	if code := child.ExitCode(); code != 128+9 {
		t.Errorf("exit code %d", code)
	}
}

func TestStopReachesAPausedChild(t *testing.T) {
	child := start(t, `trap "exit 3" TERM; echo ready; while :; do sleep 1000 & wait; done`)
	awaitLine(t, child)
	child.Signal(syscall.SIGSTOP)
	child.Stop(patience)
	if code := child.ExitCode(); code != 3 {
		t.Errorf("exit code %d", code)
	}
}

func TestDescendantsDoNotOutliveTheChild(t *testing.T) {
	child := start(t, `sleep 1000 & echo $!`)
	descendant, err := strconv.Atoi(awaitLine(t, child))
	if err != nil {
		t.Fatal(err)
	}
	<-child.Done()
	awaitGone(t, descendant)
}

// awaitGone waits until the process has ended, reaped or not.
func awaitGone(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
	}
	t.Fatalf("process %d is still there", pid)
}

func TestLogTailIsTheEnd(t *testing.T) {
	child := start(t, `i=0; while [ $i -lt 9 ]; do echo line $i; i=$((i+1)); done`)
	<-child.Done()
	tail := child.LogTail(2)
	if !strings.Contains(tail, "line 8") || !strings.Contains(tail, "line 7") || strings.Contains(tail, "line 6") {
		t.Errorf("tail is %q", tail)
	}
}

func TestGuardKillsTheRunAndRemovesOnlyItsOwnDirectories(t *testing.T) {
	t.Setenv(runVariable, "other-run")
	other := start(t, `echo ready; sleep 1000`)
	t.Setenv(runVariable, "this-run")
	// The descendant is in a group of its own, and the child is not waited for.
	child := start(t, `setsid sleep 1000 & echo $!; sleep 1000`)
	descendant, err := strconv.Atoi(awaitLine(t, child))
	if err != nil {
		t.Fatal(err)
	}
	awaitLine(t, other)
	guarded, foreign := filepath.Join(t.TempDir(), GuardedPrefix+"x"), filepath.Join(t.TempDir(), "precious")
	for _, dir := range []string{guarded, foreign} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	GuardMain(strings.NewReader("run this-run\nrun\nnonsense\nremove " + guarded + "\nremove " + foreign + "\n"))
	<-child.Done()
	awaitGone(t, descendant)
	if !other.Alive() {
		t.Error("a process of another run was killed")
	}
	if _, err := os.Stat(guarded); !os.IsNotExist(err) {
		t.Errorf("the guarded directory: %v", err)
	}
	if _, err := os.Stat(foreign); err != nil {
		t.Errorf("a directory of somebody else: %v", err)
	}
}
