// Service account tokens signed here with the API server's own key: unlike the TokenRequest API, which gives ten
// minutes at least, they may run out in a second, so that a test can see a rotation.
package kubeapi

import (
	"context"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Issuer is what the API server is told to accept as `iss` and, by default, as audience.
const Issuer = "https://kubernetes.default.svc"

// TokenSigner signs for the service accounts of one API server.
type TokenSigner struct {
	client *Client
	key    *ecdsa.PrivateKey
}

// NewTokenSigner takes the PEM of the API server's --service-account-signing-key-file.
func NewTokenSigner(client *Client, key []byte) (*TokenSigner, error) {
	block, _ := pem.Decode(key)
	if block == nil {
		return nil, errors.New("token signing key: not PEM")
	}
	private, err := x509.ParseECPrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("token signing key: %w", err)
	}
	return &TokenSigner{client: client, key: private}, nil
}

// Mint makes the service account if there is none, and a token for it. The lifetime may be negative: the API server
// grants a minute more than the token says, and remembers a good one for ten seconds.
func (s *TokenSigner) Mint(ctx context.Context, namespace, name string, lifetime time.Duration) (string, error) {
	path := fmt.Sprintf("/api/v1/namespaces/%s/serviceaccounts", namespace)
	account := map[string]any{"metadata": map[string]any{"name": name}}
	body, _ := json.Marshal(account)
	var conflict *StatusError
	err := s.client.Do(ctx, http.MethodPost, path, "application/json", body, nil)
	if err != nil && !(errors.As(err, &conflict) && conflict.Code == http.StatusConflict) {
		return "", err
	}
	var found struct{ Metadata struct{ UID string } }
	if err := s.client.Get(ctx, path+"/"+name, &found); err != nil {
		return "", err
	}
	return s.sign(namespace, name, found.Metadata.UID, time.Now(), lifetime)
}

func (s *TokenSigner) sign(namespace, name, uid string, now time.Time, lifetime time.Duration) (string, error) {
	issued := now.Add(min(0, lifetime)).Add(-time.Second)
	var id [16]byte
	_, _ = rand.Read(id[:])
	header := map[string]any{"alg": "ES256", "typ": "JWT"}
	claims := map[string]any{
		"iss": Issuer,
		"aud": []string{Issuer},
		"sub": "system:serviceaccount:" + namespace + ":" + name,
		"jti": fmt.Sprintf("%x", id),
		"iat": issued.Unix(),
		"nbf": issued.Unix(),
		"exp": now.Add(lifetime).Unix(),
		"kubernetes.io": map[string]any{
			"namespace":      namespace,
			"serviceaccount": map[string]any{"name": name, "uid": uid},
		},
	}
	signed := encodeSegment(header) + "." + encodeSegment(claims)
	hash := sha256.Sum256([]byte(signed))
	r, t, err := ecdsa.Sign(rand.Reader, s.key, hash[:])
	if err != nil {
		return "", err
	}
	signature := make([]byte, 64) // ES256: both numbers as 32 bytes, big-endian
	r.FillBytes(signature[:32])
	t.FillBytes(signature[32:])
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature), nil
}

func encodeSegment(value map[string]any) string {
	text, _ := json.Marshal(value)
	return base64.RawURLEncoding.EncodeToString(text)
}
