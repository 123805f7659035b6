// Package pki makes the throw-away certificate authority of one test run: EC keys only, so that it takes a few
// milliseconds, and key usages as strict TLS libraries want them.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Certificates outlive any test run, and are worthless soon after.
const lifetime = 30 * 24 * time.Hour

// A machine whose clock is a little behind the one that signed still accepts the certificate.
const clockSkew = time.Hour

// Pair is a certificate and its key, both PEM.
type Pair struct {
	Cert, Key []byte
}

// Authority signs certificates; Pair is its own.
type Authority struct {
	Pair
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// NewAuthority makes a self-signed authority.
func NewAuthority(name string) (*Authority, error) {
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: name},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	key, cert, pair, err := sign(template, nil)
	if err != nil {
		return nil, fmt.Errorf("certificate authority %s: %w", name, err)
	}
	return &Authority{Pair: pair, cert: cert, key: key}, nil
}

// Serving makes a server certificate for host names and addresses.
func (a *Authority) Serving(name string, hosts ...string) (Pair, error) {
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: name},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	_, _, pair, err := sign(template, a)
	return pair, err
}

// Client makes a certificate that Kubernetes reads as this user in these groups.
func (a *Authority) Client(user string, groups ...string) (Pair, error) {
	_, _, pair, err := sign(&x509.Certificate{
		Subject:     pkix.Name{CommonName: user, Organization: groups},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, a)
	return pair, err
}

// SigningKey makes a key pair for signing service account tokens: PEM of the private key and of the public one.
func SigningKey() (private, public []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	if private, err = encodeKey(key); err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return nil, nil, err
	}
	return private, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), nil
}

// Write stores the pair as DIR/NAME.crt and DIR/NAME.key; only the owner may read the key.
func (p Pair) Write(dir, name string) error {
	if err := os.WriteFile(filepath.Join(dir, name+".crt"), p.Cert, 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name+".key"), p.Key, 0o600)
}

// sign fills in serial number and validity, and signs with the authority, or with the new key itself if there is none.
func sign(template *x509.Certificate, by *Authority) (*ecdsa.PrivateKey, *x509.Certificate, Pair, error) {
	fail := func(err error) (*ecdsa.PrivateKey, *x509.Certificate, Pair, error) { return nil, nil, Pair{}, err }
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fail(err)
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)); err != nil {
		return fail(err)
	}
	now := time.Now()
	template.NotBefore, template.NotAfter = now.Add(-clockSkew), now.Add(lifetime)
	parent, parentKey := template, key
	if by != nil {
		parent, parentKey = by.cert, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, parentKey)
	if err != nil {
		return fail(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return fail(err)
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return fail(err)
	}
	return key, cert, Pair{Cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), Key: keyPEM}, nil
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}
