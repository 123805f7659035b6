// Tests that the certificates are accepted by a verifying TLS client and server, and only in their own role.
package pki

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net"
	"os"
	"path/filepath"
	"testing"
)

func authority(t *testing.T) (*Authority, *x509.CertPool) {
	t.Helper()
	ca, err := NewAuthority("test-ca")
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca.Cert) {
		t.Fatal("the authority's certificate is not PEM")
	}
	return ca, pool
}

func parse(t *testing.T, certificate []byte) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(certificate)
	if block == nil {
		t.Fatal("not PEM")
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

func TestAuthorityNamesItsKeyUsage(t *testing.T) {
	ca, _ := authority(t)
	cert := parse(t, ca.Cert)
	if !cert.IsCA || cert.KeyUsage&x509.KeyUsageCertSign == 0 {
		t.Errorf("IsCA %v, key usage %b: strict clients refuse it", cert.IsCA, cert.KeyUsage)
	}
}

func TestRolesAreSeparate(t *testing.T) {
	ca, pool := authority(t)
	serving, err := ca.Serving("server", "localhost", "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	client, err := ca.Client("alice", "admins")
	if err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name  string
		cert  []byte
		usage x509.ExtKeyUsage
		host  string
		good  bool
	}{
		{"server by name", serving.Cert, x509.ExtKeyUsageServerAuth, "localhost", true},
		{"server by address", serving.Cert, x509.ExtKeyUsageServerAuth, "127.0.0.1", true},
		{"server by another name", serving.Cert, x509.ExtKeyUsageServerAuth, "example.com", false},
		{"server as client", serving.Cert, x509.ExtKeyUsageClientAuth, "", false},
		{"client", client.Cert, x509.ExtKeyUsageClientAuth, "", true},
		{"client as server", client.Cert, x509.ExtKeyUsageServerAuth, "", false},
	}
	for _, c := range cases {
		options := x509.VerifyOptions{Roots: pool, DNSName: c.host, KeyUsages: []x509.ExtKeyUsage{c.usage}}
		if _, err := parse(t, c.cert).Verify(options); (err == nil) != c.good {
			t.Errorf("%s: verification says %v", c.name, err)
		}
	}
}

func TestMutualHandshakeCarriesUserAndGroups(t *testing.T) {
	ca, pool := authority(t)
	serving, _ := ca.Serving("server", "localhost")
	client, _ := ca.Client("alice", "admins", "people")
	pair := func(p Pair) []tls.Certificate {
		certificate, err := tls.X509KeyPair(p.Cert, p.Key)
		if err != nil {
			t.Fatal(err)
		}
		return []tls.Certificate{certificate}
	}
	near, far := net.Pipe()
	defer near.Close()
	defer far.Close()
	server := tls.Server(far, &tls.Config{Certificates: pair(serving), ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert})
	done := make(chan error, 1)
	go func() { done <- server.Handshake() }()
	if err := tls.Client(near, &tls.Config{Certificates: pair(client), RootCAs: pool, ServerName: "localhost"}).Handshake(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	subject := server.ConnectionState().PeerCertificates[0].Subject
	if subject.CommonName != "alice" || len(subject.Organization) != 2 {
		t.Errorf("the server saw %v", subject)
	}
}

func TestKeyFilesAreForTheOwnerOnly(t *testing.T) {
	ca, _ := authority(t)
	dir := t.TempDir()
	if err := ca.Write(dir, "ca"); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, "ca.key"))
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("ca.key has mode %v", info.Mode())
	}
}
