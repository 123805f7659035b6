// The operator as a process outside of the cluster, with the rights that the deployment gives it.
package main

import (
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const configurations = "/apis/admissionregistration.k8s.io/v1/"

type operator struct {
	binary, config, kubeconfig, log  string
	health, metrics, webhook, status int
	process                          *exec.Cmd
	gone                             chan struct{}
}

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

// startOperator installs what `kubectl apply -k` would, leads the webhooks to this machine and waits until all is ready.
func startOperator(on *api, top, binary string) (*operator, error) {
	dir := os.Getenv("COTRAIN_TEST_DIR")
	o := &operator{binary: binary, config: filepath.Join(dir, "operator.yaml"), kubeconfig: filepath.Join(dir, "operator.kubeconfig"),
		log: filepath.Join(dir, "logs", "operator.log")}
	for _, port := range []*int{&o.health, &o.metrics, &o.webhook, &o.status} {
		var err error
		if *port, err = freePort(); err != nil {
			return nil, err
		}
	}
	if err := install(top); err != nil {
		return nil, err
	}
	for _, path := range []string{"mutatingwebhookconfigurations/defaulter", "validatingwebhookconfigurations/validator"} {
		if err := aim(on, configurations+path+".trainer.kubeflow.org", o.webhook); err != nil {
			return nil, err
		}
	}
	if err := o.writeFiles(on); err != nil {
		return nil, err
	}
	if err := o.start(); err != nil {
		return nil, err
	}
	return o, o.ready(on)
}

func install(top string) error {
	all, good := kubectl("", "kustomize", filepath.Join(top, "deploy/overlays/manager"))
	if !good {
		return fmt.Errorf("kustomize: %s", all)
	}
	var err error
	// The first time, definitions are not served yet when something of their kind comes.
	until(20*time.Second, func() bool {
		err = must(all, "apply", "--server-side", "--force-conflicts", "-f", "-")
		return err == nil
	})
	return err
}

// installPodGroups brings the definition of the scheduler that knows gangs.
func installPodGroups() error {
	file := filepath.Join(os.Getenv("COTRAIN_TEST_CRDS"), "podgroup-scheduler-plugins.yaml")
	if err := must("", "apply", "--server-side", "-f", file); err != nil {
		return err
	}
	return must("", "wait", "--for=condition=Established", "--timeout=30s", "crd/podgroups.scheduling.x-k8s.io")
}

// aim leads a configuration's webhooks to a port of this machine: no Service leads out of this cluster.
func aim(on *api, path string, port int) error {
	found, err := on.Get(path)
	if err != nil {
		return err
	}
	for _, hook := range listAt(found, "webhooks") {
		config := at(hook, "clientConfig").(object)
		config["url"] = fmt.Sprintf("https://127.0.0.1:%d%s", port, textAt(config, "service", "path"))
		delete(config, "service")
	}
	err = on.Replace(path, found)
	return err
}

func (o *operator) writeFiles(on *api) error {
	text := fmt.Sprintf(`apiVersion: config.trainer.kubeflow.org/v1alpha1
kind: Configuration
health: {healthProbeBindAddress: '127.0.0.1:%d'}
metrics: {bindAddress: '127.0.0.1:%d', secureServing: false, namespaceLabel: true}
webhook: {host: 127.0.0.1, port: %d}
statusServer: {port: %d}
leaderElection: {leaderElect: true, resourceNamespace: %s}
`, o.health, o.metrics, o.webhook, o.status, operatorNamespace)
	if err := os.WriteFile(o.config, []byte(text), 0o600); err != nil {
		return err
	}
	token, err := control("token " + operatorNamespace + " " + operatorAccount + " 7200")
	if err != nil {
		return err
	}
	ca, err := os.ReadFile(filepath.Join(os.Getenv("COTRAIN_TEST_PKI"), "ca.crt"))
	if err != nil {
		return err
	}
	return os.WriteFile(o.kubeconfig, []byte(fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: '%s', certificate-authority-data: %s}}]
users: [{name: u, user: {token: '%s'}}]
contexts: [{name: c, context: {cluster: c, user: u, namespace: %s}}]
current-context: c
`, on.Base, base64.StdEncoding.EncodeToString(ca), token, operatorNamespace)), 0o600)
}

func (o *operator) start() error {
	log, err := os.OpenFile(o.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	process := exec.Command(o.binary, "operator", "--config="+o.config, "--kubeconfig="+o.kubeconfig, "--zap-log-level=info")
	process.Stdout, process.Stderr = log, log
	process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := process.Start(); err != nil {
		return err
	}
	gone := make(chan struct{})
	o.process, o.gone = process, gone
	go func() { _ = process.Wait(); close(gone) }()
	return nil
}

func (o *operator) ready(on *api) error {
	good := until(60*time.Second, func() bool {
		answer, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/readyz", o.health))
		if err != nil {
			return false
		}
		answer.Body.Close()
		lease, err := on.Get(leaseAPI + "/namespaces/" + operatorNamespace + "/leases/trainer.kubeflow.org")
		return answer.StatusCode == http.StatusOK && err == nil && textAt(lease, "spec", "holderIdentity") != ""
	})
	if !good {
		text, _ := os.ReadFile(o.log)
		return fmt.Errorf("the operator does not get ready:\n%s", text[max(0, len(text)-2000):])
	}
	return nil
}

func (o *operator) stop() {
	_ = o.process.Process.Signal(syscall.SIGTERM)
	select {
	case <-o.gone:
	case <-time.After(10 * time.Second):
		_ = o.process.Process.Kill()
		<-o.gone
	}
}

// lines are those of the log that are about a namespace.
func (o *operator) lines(ns string) []object {
	text, _ := os.ReadFile(o.log)
	var out []object
	for line := range strings.Lines(string(text)) {
		if fields := decode(line); textAt(fields, "namespace") == ns {
			out = append(out, fields)
		}
	}
	return out
}

// scrape is the text of /metrics.
func (o *operator) scrape() (string, error) {
	return fetch(fmt.Sprintf("http://127.0.0.1:%d/metrics", o.metrics))
}
