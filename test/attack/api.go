// A small client of the API server: JSON in and out, as the administrator or as somebody else.
package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	trainer  = "/apis/trainer.kubeflow.org/v1alpha1"
	jobset   = "/apis/jobset.x-k8s.io/v1alpha2"
	podgroup = "/apis/scheduling.x-k8s.io/v1alpha1"
	rbac     = "/apis/rbac.authorization.k8s.io/v1"
	core     = "/api/v1"
	lease    = "/apis/coordination.k8s.io/v1/namespaces/" + operatorNamespace + "/leases/trainer.kubeflow.org"

	operatorNamespace = "kubeflow-system"
	mergePatch        = "application/merge-patch+json"
	jsonType          = "application/json"
)

type object = map[string]any

type api struct {
	base string
	http *http.Client
	user string // whom to impersonate; empty: nobody
}

// newAPI is the administrator's client, from what the launcher of the control plane left in the environment.
func newAPI() (*api, error) {
	pki := os.Getenv("COTRAIN_TEST_PKI")
	pair, err := tls.LoadX509KeyPair(filepath.Join(pki, "admin.crt"), filepath.Join(pki, "admin.key"))
	if err != nil {
		return nil, fmt.Errorf("%w: run this through test/attack/run.sh", err)
	}
	ca, err := os.ReadFile(filepath.Join(pki, "ca.crt"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	transport := &http.Transport{
		TLSClientConfig:     &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: roots},
		MaxIdleConnsPerHost: 64,
	}
	return &api{base: os.Getenv("COTRAIN_TEST_SERVER"), http: &http.Client{Transport: transport, Timeout: 60 * time.Second}}, nil
}

func (a *api) as(user string) *api { return &api{base: a.base, http: a.http, user: user} }

// refusal is an answer that says no.
type refusal struct {
	code int
	text string
}

func (r *refusal) Error() string { return fmt.Sprintf("%d: %s", r.code, r.text) }

func codeOf(err error) int {
	if r, ok := err.(*refusal); ok {
		return r.code
	}
	return 0
}

func (a *api) do(ctx context.Context, method, path, contentType string, body []byte) (object, error) {
	request, err := http.NewRequestWithContext(ctx, method, a.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	request.Header.Set("User-Agent", "attack")
	if a.user != "" {
		request.Header.Set("Impersonate-User", a.user)
		request.Header.Set("Impersonate-Group", "system:authenticated")
	}
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
		message, _ := out["message"].(string)
		if len(message) > 300 {
			message = message[:300] + "…"
		}
		return nil, &refusal{answer.StatusCode, message}
	}
	return out, nil
}

func (a *api) get(path string) (object, error) {
	return a.do(context.Background(), "GET", path, "", nil)
}

func (a *api) create(path string, what any) (object, error) {
	return a.do(context.Background(), "POST", path, jsonType, encode(what))
}

func (a *api) replace(path string, what any) error {
	_, err := a.do(context.Background(), "PUT", path, jsonType, encode(what))
	return err
}

func (a *api) patch(path, text string) error {
	_, err := a.do(context.Background(), "PATCH", path, mergePatch, []byte(text))
	return err
}

func (a *api) remove(path string) error {
	_, err := a.do(context.Background(), "DELETE", path, "", nil)
	return err
}

func (a *api) items(path string) ([]object, error) {
	list, err := a.get(path)
	if err != nil {
		return nil, err
	}
	var out []object
	all, _ := list["items"].([]any)
	for _, each := range all {
		out = append(out, each.(object))
	}
	return out, nil
}

// encode takes text as it is.
func encode(what any) []byte {
	switch known := what.(type) {
	case string:
		return []byte(known)
	case []byte:
		return known
	}
	text, err := json.Marshal(what)
	if err != nil {
		panic(err)
	}
	return text
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

func text(value any, path ...any) string {
	out, _ := at(value, path...).(string)
	return out
}

func nameOf(o object) string { return text(o, "metadata", "name") }
func uidOf(o object) string  { return text(o, "metadata", "uid") }

// condition is the status of a condition: "True", "False", "Unknown", or nothing.
func condition(o object, kind string) (status, reason string) {
	all, _ := at(o, "status", "conditions").([]any)
	for _, each := range all {
		if text(each, "type") == kind {
			return text(each, "status"), text(each, "reason")
		}
	}
	return "", ""
}

// controlSocket sends a line to the launcher of the control plane.
func controlSocket(command string) (string, error) {
	connection, err := net.Dial("unix", os.Getenv("COTRAIN_TEST_CONTROL"))
	if err != nil {
		return "", err
	}
	defer connection.Close()
	if _, err := fmt.Fprintln(connection, command); err != nil {
		return "", err
	}
	answer, err := bufio.NewReader(connection).ReadString('\n')
	said := strings.TrimSpace(answer)
	if !strings.HasPrefix(said, "ok") {
		return "", fmt.Errorf("control plane: %s: %s %v", command, said, err)
	}
	return strings.TrimSpace(strings.TrimPrefix(said, "ok")), nil
}

// until asks every 50 ms.
func until(within time.Duration, good func() bool) bool {
	for due := time.Now().Add(within); ; time.Sleep(50 * time.Millisecond) {
		if good() {
			return true
		}
		if time.Now().After(due) {
			return false
		}
	}
}
