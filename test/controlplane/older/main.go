// Command kube-apiserver is that of an older Kubernetes, and its kube-scheduler where it is called so: a scheduler is never
// newer than its API server. One module graph has one Kubernetes: build.sh makes a go.mod for each version that
// test/versions names.
package main

import (
	"os"
	"path/filepath"

	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

// Features of the API server that build.sh turns off or on, as --feature-gates has them.
var gates string

func main() {
	if filepath.Base(os.Args[0]) == "kube-scheduler" {
		os.Exit(cli.Run(scheduler.NewSchedulerCommand()))
	}
	if gates != "" {
		os.Args = append(os.Args, "--feature-gates="+gates)
	}
	os.Exit(cli.Run(apiserver.NewAPIServerCommand()))
}
