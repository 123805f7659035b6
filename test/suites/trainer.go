// Package framework stands in the place of the reference's test/integration/framework: the same API server, with our
// definitions and our program in place of its manager.
package framework

import (
	"context"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	schedulerplugins "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"
	volcano "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"github.com/kubeflow/trainer/v2/test/integration/operator"
)

// A machine with other work takes longer than the ten seconds that are usual.
const startTime = 2 * time.Minute

// Framework is what the suites call.
type Framework struct {
	server  *envtest.Environment
	running *operator.Running
	cancel  context.CancelFunc
}

// Init starts an API server with all definitions.
func (f *Framework) Init() *rest.Config {
	ginkgo.By("starting an API server")
	f.server = &envtest.Environment{
		CRDDirectoryPaths: operator.Definitions(), ErrorIfCRDPathMissing: true,
		CRDInstallOptions: envtest.CRDInstallOptions{MaxTime: startTime},
	}
	config, err := f.server.Start()
	gomega.ExpectWithOffset(1, err).NotTo(gomega.HaveOccurred())
	return config
}

// RunManager starts our program; it is one, so webhooks do not come without the controller.
func (f *Framework) RunManager(config *rest.Config, _ bool) (context.Context, client.Client) {
	for _, add := range []func() error{
		func() error { return trainer.AddToScheme(scheme.Scheme) },
		func() error { return jobset.AddToScheme(scheme.Scheme) },
		func() error { return schedulerplugins.AddToScheme(scheme.Scheme) },
		func() error { return volcano.AddToScheme(scheme.Scheme) },
	} {
		gomega.ExpectWithOffset(1, add()).To(gomega.Succeed())
	}
	made, err := client.New(config, client.Options{Scheme: scheme.Scheme})
	gomega.ExpectWithOffset(1, err).NotTo(gomega.HaveOccurred())
	f.running, err = operator.Start(config)
	gomega.ExpectWithOffset(1, err).NotTo(gomega.HaveOccurred())
	ctx, cancel := context.WithCancel(context.Background())
	f.cancel = cancel
	return ctx, made
}

// Teardown ends both; a suite may call it twice.
func (f *Framework) Teardown() {
	if f.running == nil {
		return
	}
	f.cancel()
	gomega.ExpectWithOffset(1, f.running.Stop()).To(gomega.Succeed())
	f.running = nil
	gomega.ExpectWithOffset(1, f.server.Stop()).To(gomega.Succeed())
}
