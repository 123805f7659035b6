// The operator as a process: started in its cage, asked how it is, ended.
package main

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"cotrain.dev/apiclient"
)

const service = "kubeflow-trainer-controller-manager"

type ports struct{ health, metrics, webhook, status int }

func (p ports) withTLS() []int { return []int{p.webhook, p.metrics, p.status} }
func (p ports) all() []int     { return []int{p.webhook, p.metrics, p.status, p.health} }

// freePorts are below those that the kernel gives to connections, of which there will be many.
func freePorts() ports {
	var found []int
	for len(found) < 4 {
		port := 10_000 + rand.IntN(20_000)
		if listener, err := net.Listen("tcp", fmt.Sprintf(":%d", port)); err == nil {
			listener.Close()
			found = append(found, port)
		}
	}
	return ports{found[0], found[1], found[2], found[3]}
}

type operator struct {
	name       string
	binary     string
	cage       *cage
	ports      ports
	config     string
	kubeconfig string
	log        string
	flags      []string
	process    *exec.Cmd
	gone       chan struct{} // closed when it has ended
	how        string        // how it ended
}

func configuration(p ports, election string) string {
	return fmt.Sprintf(`apiVersion: config.trainer.kubeflow.org/v1alpha1
kind: Configuration
health: {healthProbeBindAddress: '127.0.0.1:%d'}
metrics: {bindAddress: '127.0.0.1:%d'}
webhook: {host: 127.0.0.1, port: %d}
statusServer: {port: %d}
featureGates: {TrainJobStatus: true}
certManagement: {enable: true}
leaderElection: {leaderElect: true, resourceNamespace: %s%s}
`, p.health, p.metrics, p.webhook, p.status, operatorNamespace, election)
}

// writeKubeconfig is for the operator's service account, towards that server.
func writeKubeconfig(file, server, token string) error {
	ca, err := os.ReadFile(filepath.Join(os.Getenv("COTRAIN_TEST_PKI"), "ca.crt"))
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: '%s', certificate-authority-data: %s}}]
users: [{name: u, user: {token: '%s'}}]
contexts: [{name: c, context: {cluster: c, user: u, namespace: %s}}]
current-context: c
`, server, base64.StdEncoding.EncodeToString(ca), token, operatorNamespace)), 0o600)
}

// newOperator prepares one that talks to the server as that service account.
func newOperator(dir, name, binary, server, account, election string, in *cage) (*operator, error) {
	token, err := apiclient.Control("token " + operatorNamespace + " " + account + " 7200")
	if err != nil {
		return nil, err
	}
	o := &operator{name: name, binary: binary, cage: in, ports: freePorts(),
		config: filepath.Join(dir, name+".yaml"), kubeconfig: filepath.Join(dir, name+".kubeconfig"),
		log: filepath.Join(dir, name+".log")}
	if err := os.WriteFile(o.config, []byte(configuration(o.ports, election)), 0o600); err != nil {
		return nil, err
	}
	return o, writeKubeconfig(o.kubeconfig, server, token)
}

func (o *operator) start() error {
	log, err := os.OpenFile(o.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	words := o.cage.command(o.binary, append([]string{"operator", "--config=" + o.config, "--kubeconfig=" + o.kubeconfig}, o.flags...)...)
	process := exec.Command(words[0], words[1:]...)
	process.Stdout, process.Stderr = log, log
	process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	kills := o.cage.kills()
	if err := process.Start(); err != nil {
		return err
	}
	gone := make(chan struct{})
	o.process, o.gone = process, gone
	go func() {
		_ = process.Wait()
		o.how = process.ProcessState.String()
		if o.cage.kills() > kills {
			o.how += " (out of memory)"
		}
		close(gone)
	}()
	return nil
}

func (o *operator) pid() int { return o.process.Process.Pid }

func (o *operator) running() bool {
	select {
	case <-o.gone:
		return false
	default:
		return true
	}
}

func (o *operator) signal(s syscall.Signal) { _ = o.process.Process.Signal(s) }

// stop asks it to end, and does not ask when that takes too long; whether it ended by itself.
func (o *operator) stop() bool {
	o.signal(syscall.SIGTERM)
	select {
	case <-o.gone:
		return true
	case <-time.After(10 * time.Second):
		o.kill()
		return false
	}
}

func (o *operator) kill() {
	o.signal(syscall.SIGKILL)
	<-o.gone
}

func (o *operator) said(text string) bool {
	log, _ := os.ReadFile(o.log)
	return strings.Contains(string(log), text)
}

func (o *operator) logLines() int {
	log, _ := os.ReadFile(o.log)
	return strings.Count(string(log), "\n")
}

// lastWords are for who wants to know why it ended.
func (o *operator) lastWords() string {
	log, _ := os.ReadFile(o.log)
	lines := strings.Split(strings.TrimSpace(string(log)), "\n")
	return strings.Join(lines[max(0, len(lines)-8):], "\n")
}

// kib reads a line of /proc/PID/status.
func (o *operator) kib(name string) int {
	content, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", o.pid()))
	for _, line := range strings.Split(string(content), "\n") {
		if rest, found := strings.CutPrefix(line, name+":"); found {
			n, _ := strconv.Atoi(strings.Fields(rest)[0])
			return n
		}
	}
	return 0
}

func (o *operator) residentMiB() int { return o.kib("RssAnon") >> 10 }
func (o *operator) peakMiB() int     { return o.kib("VmHWM") >> 10 }

// forgetPeak lets the next peak count from here.
func (o *operator) forgetPeak() {
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", o.pid()), []byte("5"), 0o200)
}

// starved is how long it wanted a processor and got none.
func (o *operator) starved() time.Duration {
	content, _ := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", o.pid()))
	fields := strings.Fields(string(content))
	if len(fields) < 2 {
		return 0
	}
	n, _ := strconv.ParseInt(fields[1], 10, 64)
	return time.Duration(n)
}

// healthy asks once, over a connection of its own, as the kubelet does.
func (o *operator) healthy(path string, within time.Duration) error {
	client := http.Client{Timeout: within, Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get(fmt.Sprintf("http://127.0.0.1:%d%s", o.ports.health, path))
	if err != nil {
		return err
	}
	answer.Body.Close()
	if answer.StatusCode != 200 {
		return fmt.Errorf("%s: %d", path, answer.StatusCode)
	}
	return nil
}

// leads tells who holds the Lease, and when it was renewed.
func leads(a *api) (holder string, renewed time.Time) {
	found, err := a.Get(lease)
	if err != nil {
		return "", time.Time{}
	}
	renewed, _ = time.Parse(time.RFC3339Nano, text(found, "spec", "renewTime"))
	return text(found, "spec", "holderIdentity"), renewed
}
