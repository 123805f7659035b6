// The commands up and exec: start, wait for the first reason to stop, stop.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"cotrain.dev/controlplane/internal/cluster"
	"cotrain.dev/controlplane/internal/process"
)

// The command of exec gets this long after SIGTERM.
const commandGrace = 5 * time.Second

func serve(options command) int {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	guard, err := process.StartGuard()
	if err != nil {
		return fail(err)
	}
	defer guard.Close()
	if len(options.exec) > 0 {
		if options.exec[0], err = exec.LookPath(options.exec[0]); err != nil {
			return fail(usageError("exec: %v", err))
		}
	}
	if options.Dir == "" {
		scratch, err := cluster.NewScratch(os.TempDir(), guard)
		if err != nil {
			return fail(err)
		}
		defer scratch.Close()
		options.Dir = scratch.Dir + "/run"
	}

	began := time.Now()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	lifeline := make(chan struct{})
	if options.lifeline {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			close(lifeline)
		}()
	}
	type outcome struct {
		cluster *cluster.Cluster
		err     error
	}
	started := make(chan outcome, 1)
	go func() {
		running, err := cluster.Start(ctx, options.Options, guard)
		started <- outcome{running, err}
	}()
	select {
	case result := <-started:
		if result.err != nil {
			return fail(result.err)
		}
		defer result.cluster.Stop()
		if len(options.exec) > 0 {
			return runCommand(options, result.cluster, signals)
		}
		fmt.Printf("ready %s dir=%s seconds=%.1f\n", result.cluster.URL(), options.Dir, time.Since(began).Seconds())
		return stay(result.cluster, signals, lifeline)
	case received := <-signals:
		cancel()
		if result := <-started; result.err == nil {
			result.cluster.Stop()
		}
		return signalled(received)
	case <-lifeline:
		cancel()
		if result := <-started; result.err == nil {
			result.cluster.Stop()
		}
		return 0
	}
}

// stay is up's wait.
func stay(running *cluster.Cluster, signals <-chan os.Signal, lifeline <-chan struct{}) int {
	select {
	case <-signals:
		return 0 // this is how up is meant to end
	case <-lifeline:
		return 0
	case err := <-running.Failed:
		return fail(err)
	}
}

// runCommand is exec's wait.
func runCommand(options command, running *cluster.Cluster, signals <-chan os.Signal) int {
	child, err := process.Start(process.Spec{
		Name:     options.exec[0],
		Path:     options.exec[0],
		Args:     options.exec[1:],
		Env:      running.Env(),
		Terminal: true,
	})
	if err != nil {
		return fail(usageError("exec: %v", err))
	}
	select {
	case <-child.Done():
		return child.ExitCode()
	case received := <-signals:
		child.Stop(commandGrace)
		return signalled(received)
	case err := <-running.Failed:
		code := fail(err)
		child.Stop(commandGrace)
		return code
	}
}

func signalled(received os.Signal) int {
	if number, ok := received.(syscall.Signal); ok {
		return 128 + int(number)
	}
	return 1
}
