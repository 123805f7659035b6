// Package apiclient is a small client of the API server that test/controlplane runs: JSON in and out, as the administrator
// or as somebody else.
package apiclient

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
	JSON       = "application/json"
	MergePatch = "application/merge-patch+json"
)

type Object = map[string]any

type Client struct {
	Base string
	http *http.Client
	user string // whom to impersonate; empty: nobody
}

// New is the administrator's client, from what the launcher of the control plane left in the environment.
func New() (*Client, error) {
	pki := os.Getenv("COTRAIN_TEST_PKI")
	pair, err := tls.LoadX509KeyPair(filepath.Join(pki, "admin.crt"), filepath.Join(pki, "admin.key"))
	if err != nil {
		return nil, fmt.Errorf("%w: no control plane of test/controlplane in the environment: use run.sh", err)
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
	return &Client{Base: os.Getenv("COTRAIN_TEST_SERVER"), http: &http.Client{Transport: transport, Timeout: 60 * time.Second}}, nil
}

func (c *Client) As(user string) *Client { return &Client{Base: c.Base, http: c.http, user: user} }

// Refusal is an answer that says no.
type Refusal struct {
	Code int
	Text string
}

func (r *Refusal) Error() string { return fmt.Sprintf("%d: %s", r.Code, r.Text) }

// CodeOf is the status of a refusal; 0 of other errors.
func CodeOf(err error) int {
	if r, ok := err.(*Refusal); ok {
		return r.Code
	}
	return 0
}

func (c *Client) Do(ctx context.Context, method, path, contentType string, body []byte) (Object, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.Base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	request.Header.Set("User-Agent", filepath.Base(os.Args[0]))
	if c.user != "" {
		request.Header.Set("Impersonate-User", c.user)
		request.Header.Set("Impersonate-Group", "system:authenticated")
	}
	answer, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	var out Object
	_ = json.Unmarshal(text, &out)
	if answer.StatusCode >= 300 {
		message := Text(out, "message")
		if len(message) > 300 {
			message = message[:300] + "…"
		}
		return nil, &Refusal{answer.StatusCode, message}
	}
	return out, nil
}

func (c *Client) Get(path string) (Object, error) {
	return c.Do(context.Background(), "GET", path, "", nil)
}

func (c *Client) Create(path string, what any) (Object, error) {
	return c.Do(context.Background(), "POST", path, JSON, Encode(what))
}

func (c *Client) Replace(path string, what any) error {
	_, err := c.Do(context.Background(), "PUT", path, JSON, Encode(what))
	return err
}

func (c *Client) Patch(path string, what any) error {
	_, err := c.Do(context.Background(), "PATCH", path, MergePatch, Encode(what))
	return err
}

// Remove deletes at once: no kubelet has to agree.
func (c *Client) Remove(path string) error {
	_, err := c.Do(context.Background(), "DELETE", path, JSON, []byte(`{"gracePeriodSeconds":0}`))
	return err
}

func (c *Client) Items(path string) ([]Object, error) {
	list, err := c.Get(path)
	if err != nil {
		return nil, err
	}
	var out []Object
	for _, each := range List(list, "items") {
		out = append(out, each.(Object))
	}
	return out, nil
}

// Encode takes text as it is.
func Encode(what any) []byte {
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

// At follows names and indices; nil where there is nothing.
func At(value any, path ...any) any {
	for _, step := range path {
		switch key := step.(type) {
		case string:
			inner, _ := value.(Object)
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

func Text(value any, path ...any) string {
	out, _ := At(value, path...).(string)
	return out
}

func List(value any, path ...any) []any {
	out, _ := At(value, path...).([]any)
	return out
}

func NameOf(o Object) string { return Text(o, "metadata", "name") }

// Control sends a line to the launcher of the control plane.
func Control(command string) (string, error) {
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

// Until asks every 50 ms.
func Until(within time.Duration, good func() bool) bool {
	for due := time.Now().Add(within); ; time.Sleep(50 * time.Millisecond) {
		if good() {
			return true
		}
		if time.Now().After(due) {
			return false
		}
	}
}
