// Package kubeapi is the little of the Kubernetes API that a launcher needs, over plain net/http: is it ready, apply
// an object, read one, mint a token. Importing client-go would take longer to build than all the rest.
package kubeapi

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"cotrain.dev/controlplane/internal/pki"
)

const (
	requestTimeout   = 10 * time.Second
	maxResponseBytes = 16 << 20
	pollInterval     = 20 * time.Millisecond
	fieldManager     = "controlplane"
)

// Client talks to one API server with one client certificate.
type Client struct {
	url  string
	http *http.Client
}

// NewClient needs no server yet: connections are made when used.
func NewClient(url string, ca []byte, user pki.Pair) (*Client, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("client for %s: no CA certificate in the PEM data", url)
	}
	certificate, err := tls.X509KeyPair(user.Cert, user.Key)
	if err != nil {
		return nil, fmt.Errorf("client for %s: %w", url, err)
	}
	return &Client{url: url, http: &http.Client{
		Timeout: requestTimeout,
		Transport: &http.Transport{
			TLSClientConfig:   &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{certificate}},
			ForceAttemptHTTP2: true,
		},
	}}, nil
}

// StatusError is an answer other than 2xx.
type StatusError struct {
	Code    int
	Request string
	Message string
}

func (e *StatusError) Error() string { return fmt.Sprintf("%s: %d %s", e.Request, e.Code, e.Message) }

// Do sends one request; the answer is decoded into out unless that is nil.
func (c *Client) Do(ctx context.Context, method, path, contentType string, body []byte, out any) error {
	request, err := http.NewRequestWithContext(ctx, method, c.url+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	request.Header.Set("Accept", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxResponseBytes))
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if response.StatusCode/100 != 2 {
		var status struct{ Message string }
		if json.Unmarshal(text, &status) != nil || status.Message == "" {
			status.Message = string(text[:min(len(text), 300)])
		}
		return &StatusError{Code: response.StatusCode, Request: method + " " + path, Message: status.Message}
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return nil
}

// Apply applies a YAML or JSON object server-side, taking all its fields over.
func (c *Client) Apply(ctx context.Context, path string, object []byte) error {
	return c.Do(ctx, http.MethodPatch, path+"?force=true&fieldManager="+fieldManager, "application/apply-patch+yaml", object, nil)
}

// Get reads an object or a list.
func (c *Client) Get(ctx context.Context, path string, out any) error {
	return c.Do(ctx, http.MethodGet, path, "", nil, out)
}

// Until asks again and again until ask gives no error; the last error tells why it was not in time.
func Until(ctx context.Context, what string, ask func(context.Context) error) error {
	for {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w: %w", what, context.Cause(ctx), err)
		case <-time.After(pollInterval):
		}
	}
}

// Ready asks /readyz once.
func (c *Client) Ready(ctx context.Context) error {
	err := c.Do(ctx, http.MethodGet, "/readyz", "", nil, nil)
	if err != nil {
		// A connection to a server that is going down must not be asked a second time.
		c.http.CloseIdleConnections()
	}
	return err
}
