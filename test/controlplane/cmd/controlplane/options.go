// Options of the command line, checked before anything is started.
package main

import (
	"flag"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cotrain.dev/controlplane/internal/cluster"
)

// command is a parsed command line of up or exec.
type command struct {
	cluster.Options
	lifeline bool
	exec     []string // empty: up
}

// list is a flag that may be given several times.
type list []string

func (l *list) String() string { return strings.Join(*l, ",") }
func (l *list) Set(value string) error {
	*l = append(*l, value)
	return nil
}

const maxTimeoutSeconds = 3600

func parse(verb string, arguments []string) (command, error) {
	var parsed command
	var with, arg, config, crds list
	var bin string
	var timeout uint
	flags := flag.NewFlagSet(verb, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&parsed.Dir, "dir", "", "")
	flags.StringVar(&bin, "bin", "", "")
	flags.StringVar(&parsed.CRDDir, "crd-dir", "", "")
	flags.Var(&with, "with", "")
	flags.Var(&crds, "crds", "")
	flags.Var(&arg, "arg", "")
	flags.Var(&config, "config", "")
	flags.BoolVar(&parsed.Audit, "audit", false, "")
	flags.StringVar(&parsed.Address, "address", "127.0.0.1", "")
	flags.IntVar(&parsed.Port, "port", 0, "")
	flags.UintVar(&timeout, "timeout", 60, "")
	flags.BoolVar(&parsed.lifeline, "lifeline-stdin", false, "")
	if err := flags.Parse(arguments); err != nil {
		return parsed, usageError("%s: %v; controlplane help lists the options", verb, err)
	}
	parsed.exec, parsed.CRDs = flags.Args(), crds
	if timeout == 0 || timeout > maxTimeoutSeconds {
		return parsed, usageError("--timeout %d: give 1 to %d seconds", timeout, maxTimeoutSeconds)
	}
	parsed.Timeout = time.Duration(timeout) * time.Second
	if parsed.Port < 0 || parsed.Port > 65535 {
		return parsed, usageError("--port %d: give 0 to 65535", parsed.Port)
	}
	if net.ParseIP(parsed.Address) == nil {
		return parsed, usageError("--address %s: give an IP address of this machine", parsed.Address)
	}
	if err := checkVerb(verb, &parsed); err != nil {
		return parsed, err
	}
	if err := parseWith(&parsed, with); err != nil {
		return parsed, err
	}
	if err := parseArgs(&parsed, arg); err != nil {
		return parsed, err
	}
	if err := parseConfig(&parsed, config); err != nil {
		return parsed, err
	}
	return parsed, findDirs(&parsed, bin)
}

func checkVerb(verb string, parsed *command) error {
	switch {
	case verb == "exec" && len(parsed.exec) == 0:
		return usageError("exec: which command? controlplane exec [options] -- COMMAND [ARG...]")
	case verb == "exec" && parsed.lifeline:
		return usageError("exec: --lifeline-stdin is for up; the command has standard input here")
	case verb == "up" && len(parsed.exec) > 0:
		return usageError("up: %q is one too many; to run a command use controlplane exec", parsed.exec[0])
	case verb == "up" && parsed.Dir == "":
		return usageError("up: where to? give --dir DIR")
	}
	return nil
}

func parseWith(parsed *command, with list) error {
	parsed.With = map[string]bool{}
	for _, value := range with {
		for name := range strings.SplitSeq(value, ",") {
			if !slices.Contains(cluster.Extras, name) {
				return usageError("--with %s: there are %s", name, strings.Join(cluster.Extras, ", "))
			}
			parsed.With[name] = true
		}
	}
	return nil
}

func parseArgs(parsed *command, arg list) error {
	parsed.Args = map[string][]string{}
	for _, value := range arg {
		name, flag, found := strings.Cut(value, "=")
		if !found || !strings.HasPrefix(flag, "-") {
			return usageError("--arg %s: give NAME=FLAG, such as apiserver=--v=2", value)
		}
		if name != "etcd" && name != "apiserver" && !parsed.With[name] {
			return usageError("--arg %s: %s does not run; --with %s starts it if it is one of %s",
				value, name, name, strings.Join(cluster.Extras, ", "))
		}
		parsed.Args[name] = append(parsed.Args[name], flag)
	}
	return nil
}

func parseConfig(parsed *command, config list) error {
	parsed.Config = map[string][]string{}
	for _, value := range config {
		name, line, found := strings.Cut(value, "=")
		if !found || (name != "jobset" && name != "reference") || !parsed.With[name] {
			return usageError("--config %s: give NAME=LINE, with NAME jobset or reference, which --with NAME starts", value)
		}
		parsed.Config[name] = append(parsed.Config[name], line)
	}
	return nil
}

// findDirs fills in where binaries and definitions are.
func findDirs(parsed *command, bin string) error {
	if bin == "" {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		bin = filepath.Dir(self)
	}
	if assets := os.Getenv("KUBEBUILDER_ASSETS"); assets != "" {
		if info, err := os.Stat(assets); err != nil || !info.IsDir() {
			return usageError("KUBEBUILDER_ASSETS=%s: not a directory; unset it to use the binaries built here", assets)
		}
		parsed.Bin = append(parsed.Bin, assets)
	}
	parsed.Bin = append(parsed.Bin, bin)
	if parsed.CRDDir == "" {
		parsed.CRDDir = filepath.Join(bin, "..", "crds")
	}
	var err error
	parsed.CRDDir, err = filepath.Abs(parsed.CRDDir)
	return err
}
