// Package operator runs our program where a suite of somebody else would run a manager of its own.
package operator

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// Definitions are those of what the suites and our program work with.
func Definitions() []string { return filepath.SplitList(variable("COTRAIN_SUITE_CRDS")) }

func variable(name string) string {
	value := os.Getenv(name)
	if value == "" {
		panic(name + " is not set: run these suites through test/reference/suites.sh")
	}
	return value
}

// Running is our program at work.
type Running struct {
	command *exec.Cmd
	ended   chan error
	scratch string
}

// Start installs our webhooks and starts our program on that API server; it is ready when this returns.
func Start(config *rest.Config) (*Running, error) {
	webhooks := envtest.WebhookInstallOptions{Paths: []string{variable("COTRAIN_SUITE_WEBHOOKS")}}
	if err := webhooks.Install(config); err != nil {
		return nil, err
	}
	scratch, err := os.MkdirTemp("", "cotrain-suite")
	if err != nil {
		return nil, err
	}
	kubeconfig := filepath.Join(scratch, "kubeconfig")
	if err := writeKubeconfig(config, kubeconfig); err != nil {
		return nil, err
	}
	// The port of the webhooks plus one is as free as any.
	probes := fmt.Sprintf("%s:%d", webhooks.LocalServingHost, webhooks.LocalServingPort+1)
	text := fmt.Sprintf(`apiVersion: config.trainer.kubeflow.org/v1alpha1
kind: Configuration
webhook: {host: %q, port: %d}
metrics: {bindAddress: "0"}
health: {healthProbeBindAddress: %q}
certManagement: {enable: false}
`, webhooks.LocalServingHost, webhooks.LocalServingPort, probes)
	file := filepath.Join(scratch, "config.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, err
	}
	log, err := os.OpenFile(variable("COTRAIN_SUITE_LOG"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	command := exec.Command(variable("COTRAIN_SUITE_PROGRAM"), "operator", "--config", file, "--kubeconfig", kubeconfig,
		"--webhook-cert-dir", webhooks.LocalServingCertDir)
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	running := &Running{command: command, ended: make(chan error, 1), scratch: scratch}
	started := make(chan error)
	go running.look(started)
	if err := <-started; err != nil {
		return nil, err
	}
	return running, running.ready("http://" + probes + "/readyz")
}

// look starts our program and waits for its end, on one thread: the kernel kills it when that thread ends.
func (r *Running) look(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := r.command.Start()
	started <- err
	if err == nil {
		r.ended <- r.command.Wait()
	}
}

func (r *Running) ready(address string) error {
	deadline := time.After(30 * time.Second)
	for {
		if answer, err := http.Get(address); err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case err := <-r.ended:
			return fmt.Errorf("our program ended: %v; its log is %s", err, variable("COTRAIN_SUITE_LOG"))
		case <-deadline:
			return fmt.Errorf("our program is not ready after 30 s; its log is %s", variable("COTRAIN_SUITE_LOG"))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Stop ends our program, which has to end well.
func (r *Running) Stop() error {
	defer os.RemoveAll(r.scratch)
	if err := r.command.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return <-r.ended
}

func writeKubeconfig(config *rest.Config, path string) error {
	const name = "suite"
	server := config.Host
	if len(server) < 8 || server[:8] != "https://" {
		server = "https://" + server
	}
	return clientcmd.WriteToFile(clientcmdapi.Config{
		CurrentContext: name,
		Clusters:       map[string]*clientcmdapi.Cluster{name: {Server: server, CertificateAuthorityData: config.CAData}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{name: {
			ClientCertificateData: config.CertData, ClientKeyData: config.KeyData, Token: config.BearerToken}},
		Contexts: map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
	}, path)
}
