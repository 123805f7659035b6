// Command kube-apiserver is that of an older Kubernetes. One module graph has one Kubernetes: build.sh makes a go.mod for
// each version that test/versions names.
package main

import (
	"os"

	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

// Features that build.sh turns off or on, as --feature-gates has them.
var gates string

func main() {
	if gates != "" {
		os.Args = append(os.Args, "--feature-gates="+gates)
	}
	os.Exit(cli.Run(app.NewAPIServerCommand()))
}
