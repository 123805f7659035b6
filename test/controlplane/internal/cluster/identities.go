// Who is who in a run: certificates, kubeconfigs, and a service account with a token.
package cluster

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"time"

	"cotrain.dev/controlplane/internal/pki"
)

const (
	testAccount       = "cotrain-test"
	testAccountSpace  = "kube-system"
	testTokenLifetime = 24 * time.Hour
)

// identities are the ones that the launcher itself goes on using.
type identities struct {
	ca       *pki.Authority
	admin    pki.Pair
	tokenKey []byte
}

func (c *Cluster) makeIdentities() (identities, error) {
	var made identities
	var err error
	if made.ca, err = pki.NewAuthority("controlplane-ca"); err != nil {
		return made, err
	}
	serving, err := made.ca.Serving("kube-apiserver", c.options.Address, "127.0.0.1", "::1", "10.96.0.1", "localhost",
		"kubernetes", "kubernetes.default", "kubernetes.default.svc")
	if err != nil {
		return made, err
	}
	var tokenPublic []byte
	if made.tokenKey, tokenPublic, err = pki.SigningKey(); err != nil {
		return made, err
	}
	dir := c.path("pki")
	err = errors.Join(made.ca.Write(dir, "ca"), serving.Write(dir, "apiserver"),
		os.WriteFile(c.path("pki", "sa.key"), made.tokenKey, 0o600),
		os.WriteFile(c.path("pki", "sa.pub"), tokenPublic, 0o644))
	if err != nil {
		return made, err
	}
	masters := []string{"system:masters"}
	users := []struct {
		name, user string
		groups     []string
		kubeconfig string
	}{
		{"admin", "admin", masters, c.path("kubeconfig")},
		{"kcm", "system:kube-controller-manager", nil, c.path("pki", "kcm.kubeconfig")},
		{"scheduler", "system:kube-scheduler", nil, c.path("pki", "scheduler.kubeconfig")},
		{"jobset", "jobset-controller", masters, c.path("pki", "jobset.kubeconfig")},
		{"reference", "reference-controller", masters, c.path("pki", "reference.kubeconfig")},
	}
	for _, user := range users {
		pair, err := made.ca.Client(user.user, user.groups...)
		if err != nil {
			return made, err
		}
		credentials := "client-certificate-data: " + encode(pair.Cert) + "\n    client-key-data: " + encode(pair.Key)
		err = errors.Join(pair.Write(dir, user.name), c.writeKubeconfig(user.kubeconfig, made.ca.Cert, user.name, credentials))
		if err != nil {
			return made, err
		}
		if user.name == "admin" {
			made.admin = pair
		}
	}
	return made, nil
}

func encode(text []byte) string { return base64.StdEncoding.EncodeToString(text) }

func (c *Cluster) writeKubeconfig(path string, ca []byte, user, credentials string) error {
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters:
- name: test
  cluster:
    server: %s
    certificate-authority-data: %s
users:
- name: %s
  user:
    %s
contexts:
- name: test
  context:
    cluster: test
    user: %s
current-context: test
`, c.URL(), encode(ca), user, credentials, user)
	return os.WriteFile(path, []byte(text), 0o600)
}

// writeTokenKubeconfig makes a service account that may do anything, and a kubeconfig with its token.
func (c *Cluster) writeTokenKubeconfig(ctx context.Context) error {
	binding := fmt.Sprintf(`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","metadata":{"name":%q},
"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"cluster-admin"},
"subjects":[{"kind":"ServiceAccount","namespace":%q,"name":%q}]}`, testAccount, testAccountSpace, testAccount)
	path := "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/" + testAccount
	if err := c.client.Apply(ctx, path, []byte(binding)); err != nil {
		return err
	}
	token, err := c.tokens.Mint(ctx, testAccountSpace, testAccount, testTokenLifetime)
	if err != nil {
		return err
	}
	return c.writeKubeconfig(c.path("token-kubeconfig"), c.pki.ca.Cert, testAccount, "token: "+token)
}
