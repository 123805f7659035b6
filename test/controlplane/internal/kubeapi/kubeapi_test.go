// Tests of the API client against a server that behaves as a real one does for a moment after a definition is made.
package kubeapi

import (
	"context"
	"crypto/ecdsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cotrain.dev/controlplane/internal/pki"
)

const widgets = `kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {plural: widgets}
  versions: [{name: v1, served: true}, {name: v0, served: false}]
`

func file(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReadCRDs(t *testing.T) {
	dir := t.TempDir()
	good := file(t, dir, "a.yaml", "# comment only\n---\n"+widgets+"---\n")
	other := file(t, dir, "b.yml", "kind: Kustomization\n")
	broken := file(t, t.TempDir(), "c.yaml", "kind: [")
	cases := []struct{ path, wrong string }{
		{good, ""},
		{dir, ""},
		{other, "only CustomResourceDefinitions"},
		{broken, "c.yaml"},
		{t.TempDir(), "no CustomResourceDefinition"},
		{filepath.Join(dir, "missing"), "no such file"},
	}
	for _, c := range cases {
		crds, err := ReadCRDs(c.path)
		switch {
		case c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)):
			t.Errorf("%s: %v, want %q", c.path, err, c.wrong)
		case c.wrong == "" && (err != nil || len(crds) != 1 || crds[0].Metadata.Name != "widgets.example.com"):
			t.Errorf("%s: %v %v", c.path, crds, err)
		}
	}
}

// client of a plain HTTP server.
func client(server *httptest.Server) *Client { return &Client{url: server.URL, http: server.Client()} }

func TestInstallCRDWaitsUntilListsAreAnswered(t *testing.T) {
	var applied, gets, lists atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPatch:
			applied.Add(1)
		case strings.HasSuffix(r.URL.Path, "/customresourcedefinitions/widgets.example.com"):
			if gets.Add(1) > 1 {
				fmt.Fprint(w, `{"status":{"conditions":[{"type":"Established","status":"True"}]}}`)
			} else {
				fmt.Fprint(w, `{}`)
			}
		case r.URL.Path == "/apis/example.com/v1/widgets" && lists.Add(1) == 1:
			http.Error(w, `{"message":"storage is (re)initializing"}`, http.StatusTooManyRequests)
		case r.URL.Path != "/apis/example.com/v1/widgets":
			t.Errorf("%s was asked for", r.URL.Path)
		}
	}))
	defer server.Close()
	crds, err := ReadCRDs(file(t, t.TempDir(), "crd.yaml", widgets))
	if err != nil {
		t.Fatal(err)
	}
	if err := client(server).InstallCRDs(context.Background(), crds); err != nil {
		t.Fatal(err)
	}
	if applied.Load() != 1 || lists.Load() != 2 {
		t.Errorf("%d applies, %d lists", applied.Load(), lists.Load())
	}
}

func TestUntilSaysWhatWentWrongLast(t *testing.T) {
	late := errors.New("too late")
	ctx, cancel := context.WithTimeoutCause(context.Background(), time.Millisecond, late)
	defer cancel()
	last := errors.New("refused")
	err := Until(ctx, "thing", func(context.Context) error { return last })
	if !errors.Is(err, late) || !errors.Is(err, last) || !strings.HasPrefix(err.Error(), "thing: ") {
		t.Errorf("%v", err)
	}
}

func TestErrorsCarryTheServersMessage(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"message":"pods \"x\" not found"}`, http.StatusNotFound)
	}))
	defer server.Close()
	err := client(server).Get(context.Background(), "/x", nil)
	var status *StatusError
	if !errors.As(err, &status) || status.Code != 404 || status.Message != `pods "x" not found` {
		t.Errorf("%v", err)
	}
}

func TestTokensAreSignedAndDated(t *testing.T) {
	private, _, err := pki.SigningKey()
	if err != nil {
		t.Fatal(err)
	}
	signer, err := NewTokenSigner(nil, private)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_000_000, 0)
	for _, lifetime := range []time.Duration{time.Hour, -55 * time.Second} {
		token, err := signer.sign("ns", "name", "uid", now, lifetime)
		if err != nil {
			t.Fatal(err)
		}
		parts := strings.Split(token, ".")
		signature, _ := base64.RawURLEncoding.DecodeString(parts[2])
		hash := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
		r, s := new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])
		if !ecdsa.Verify(&signer.key.PublicKey, hash[:], r, s) {
			t.Error("the signature is wrong")
		}
		var claims struct {
			Exp, Nbf int64
			Sub      string
		}
		text, _ := base64.RawURLEncoding.DecodeString(parts[1])
		if err := json.Unmarshal(text, &claims); err != nil {
			t.Fatal(err)
		}
		if claims.Exp != now.Add(lifetime).Unix() || claims.Nbf >= claims.Exp || claims.Sub != "system:serviceaccount:ns:name" {
			t.Errorf("claims %+v", claims)
		}
	}
}
