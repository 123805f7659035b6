// The API server as these mishaps need it: kubectl for what a user types, plain requests for everything else.
package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	trainerAPI = "/apis/trainer.kubeflow.org/v1alpha1"
	jobsetAPI  = "/apis/jobset.x-k8s.io/v1alpha2"
	coreAPI    = "/api/v1"
	leaseAPI   = "/apis/coordination.k8s.io/v1"

	operatorNamespace = "kubeflow-system"
	operatorAccount   = "kubeflow-trainer-controller-manager"
)

type object = map[string]any

type api struct {
	base string
	http *http.Client
}

// newAPI is the administrator's client, from what the launcher of the control plane left in the environment.
func newAPI() (*api, error) {
	pki := os.Getenv("COTRAIN_TEST_PKI")
	pair, err := tls.LoadX509KeyPair(filepath.Join(pki, "admin.crt"), filepath.Join(pki, "admin.key"))
	if err != nil {
		return nil, fmt.Errorf("%w: run this through test/troubleshooting/run.sh", err)
	}
	ca, err := os.ReadFile(filepath.Join(pki, "ca.crt"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	transport := &http.Transport{
		TLSClientConfig:     &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: roots},
		MaxIdleConnsPerHost: 32,
	}
	return &api{base: os.Getenv("COTRAIN_TEST_SERVER"), http: &http.Client{Transport: transport, Timeout: 30 * time.Second}}, nil
}

func (a *api) do(method, path, contentType, body string) (object, error) {
	request, err := http.NewRequest(method, a.base+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", contentType)
	answer, err := a.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	var out object
	_ = json.Unmarshal(text, &out)
	if answer.StatusCode >= 300 {
		return nil, fmt.Errorf("%s %s: %s", method, path, textAt(out, "message"))
	}
	return out, nil
}

func (a *api) get(path string) (object, error) { return a.do("GET", path, "", "") }
func (a *api) create(path, body string) error {
	_, err := a.do("POST", path, "application/json", body)
	return err
}
func (a *api) patch(path, body string) error {
	_, err := a.do("PATCH", path, "application/merge-patch+json", body)
	return err
}
func (a *api) remove(path string) error {
	_, err := a.do("DELETE", path, "application/json", `{"gracePeriodSeconds":0}`)
	return err
}

func (a *api) items(path string) ([]object, error) {
	list, err := a.get(path)
	if err != nil {
		return nil, err
	}
	var out []object
	for _, each := range listAt(list, "items") {
		out = append(out, each.(object))
	}
	return out, nil
}

// at follows names and indices; nil where there is nothing.
func at(value any, path ...any) any {
	for _, step := range path {
		switch key := step.(type) {
		case string:
			inner, _ := value.(object)
			value = inner[key]
		case int:
			inner, _ := value.([]any)
			if key >= len(inner) {
				return nil
			}
			value = inner[key]
		}
	}
	return value
}

func textAt(value any, path ...any) string {
	out, _ := at(value, path...).(string)
	return out
}

func listAt(value any, path ...any) []any {
	out, _ := at(value, path...).([]any)
	return out
}

func nameOf(o object) string { return textAt(o, "metadata", "name") }

// quoted is a JSON string, which is one of YAML, too.
func quoted(text string) string {
	out, _ := json.Marshal(text)
	return string(out)
}

// Programs of Kubernetes are large and start slowly: a few at a time.
var programs = make(chan struct{}, 3)

// kubectl returns what both streams said, and whether it went well.
func kubectl(input string, words ...string) (string, bool) {
	return program(os.Getenv("COTRAIN_TEST_KUBECTL"), input, words...)
}

func program(path, input string, words ...string) (string, bool) {
	programs <- struct{}{}
	defer func() { <-programs }()
	run := exec.Command(path, words...)
	run.Stdin = strings.NewReader(input)
	var out bytes.Buffer
	run.Stdout, run.Stderr = &out, &out
	err := run.Run()
	return strings.TrimSpace(out.String()), err == nil
}

func must(input string, words ...string) error {
	if out, good := kubectl(input, words...); !good {
		return fmt.Errorf("kubectl %s: %s", strings.Join(words, " "), out)
	}
	return nil
}

// control sends a line to the launcher of the control plane.
func control(command string) (string, error) {
	connection, err := net.Dial("unix", os.Getenv("COTRAIN_TEST_CONTROL"))
	if err != nil {
		return "", err
	}
	defer connection.Close()
	if _, err := fmt.Fprintln(connection, command); err != nil {
		return "", err
	}
	answer := make([]byte, 16<<10)
	n, err := connection.Read(answer)
	said := strings.TrimSpace(string(answer[:n]))
	if !strings.HasPrefix(said, "ok") {
		return "", fmt.Errorf("control plane: %s: %s %v", command, said, err)
	}
	return strings.TrimSpace(strings.TrimPrefix(said, "ok")), nil
}

// until asks five times a second.
func until(within time.Duration, good func() bool) bool {
	for due := time.Now().Add(within); ; time.Sleep(200 * time.Millisecond) {
		if good() {
			return true
		}
		if time.Now().After(due) {
			return false
		}
	}
}
