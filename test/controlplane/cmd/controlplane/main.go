// Command controlplane runs a real kube-apiserver with etcd on loopback for the time of a test run; see usage below.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"cotrain.dev/controlplane/internal/cluster"
	"cotrain.dev/controlplane/internal/process"
)

const usage = `controlplane runs etcd and kube-apiserver on loopback, with a CA of their own, for the time of a test run.

  controlplane up --dir DIR [options]              start, print one "ready ..." line, stay until SIGTERM or SIGINT
  controlplane exec [options] -- COMMAND [ARG...]  start, run the command, stop; its exit code is ours
  controlplane ctl COMMAND...                      write to the control socket of $COTRAIN_TEST_CONTROL

Options:
  --dir DIR          logs, pki/, kubeconfig, token-kubeconfig, env, control.sock; exec: a temporary one by default
  --bin DIR          where the binaries are; default: beside controlplane. $KUBEBUILDER_ASSETS is searched first
  --crd-dir DIR      definitions and webhooks for --with jobset and --with reference; default: ../crds from --bin
  --with NAME        kcm, scheduler, jobset or reference, too (repeatable, or with commas)
  --crds PATH        install CustomResourceDefinitions of this file or directory (repeatable)
  --audit            DIR/audit.log: who asked for what, one JSON object a line
  --address IP       where the API server listens (127.0.0.1)
  --port N           its port (0: any)
  --arg NAME=FLAG    one more flag for etcd, apiserver, kcm, scheduler, jobset or reference (repeatable)
  --config NAME=LINE one more line for the configuration file of jobset or reference (repeatable)
  --timeout SECONDS  for each component to become ready (60)
  --lifeline-stdin   up: stop when standard input ends

The command of exec, and whoever reads DIR/env, finds KUBECONFIG and COTRAIN_TEST_{DIR, SERVER, KUBECONFIG,
TOKEN_KUBECONFIG, PKI, CONTROL, CRDS, KUBECTL, AUDIT}. Whatever ends controlplane, SIGKILL included, ends all it
started. Commands of the control socket, a line each; the answer is a line that starts with "ok" or "error:":
` + cluster.ControlHelp + `

Exit codes: 2 bad arguments, 1 could not start or a component ended by itself, 128+N stopped by signal N.
`

func main() {
	if len(os.Args) == 2 && os.Args[1] == process.GuardCommand {
		process.GuardMain(os.Stdin)
		return
	}
	os.Exit(run(os.Args[1:]))
}

func run(arguments []string) int {
	if len(arguments) == 0 {
		return fail(usageError("what to do? controlplane help lists it"))
	}
	switch verb, rest := arguments[0], arguments[1:]; verb {
	case "help", "-h", "-help", "--help":
		fmt.Print(usage)
		return 0
	case "up", "exec":
		options, err := parse(verb, rest)
		if err != nil {
			return fail(err)
		}
		return serve(options)
	case "ctl":
		return control(rest)
	default:
		return fail(usageError("no command %q; controlplane help lists them", verb))
	}
}

func usageError(format string, values ...any) error {
	return usageFailure(fmt.Sprintf(format, values...))
}

type usageFailure string

func (f usageFailure) Error() string { return string(f) }

// fail says what is wrong and gives the exit code.
func fail(err error) int {
	fmt.Fprintln(os.Stderr, "controlplane: "+strings.TrimSpace(err.Error()))
	var ours usageFailure
	var theirs *cluster.UsageError
	if errors.As(err, &ours) || errors.As(err, &theirs) {
		return 2
	}
	return 1
}
