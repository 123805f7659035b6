// Command kube-apiserver is that of Kubernetes 1.32, without WatchList, which 1.30 and 1.31 do not have either. It has a
// module of its own, since one module graph has one Kubernetes.
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

func main() {
	os.Args = append(os.Args, "--feature-gates=WatchList=false")
	os.Exit(cli.Run(app.NewAPIServerCommand()))
}
