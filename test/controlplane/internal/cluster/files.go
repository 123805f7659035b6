// The directory of a run: made ours and empty, and at the end an env file for others to read.
package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

const lockFile = ".controlplane"

// leftovers are what an earlier run may have put into the directory.
var leftovers = []string{"pki", "logs", "data", "tmp", "kubeconfig", "token-kubeconfig", "env", "control.sock",
	"audit-policy.yaml", "audit*.log"}

// openDir makes the directory ours and empty. It must be new, empty, or from an earlier run that has ended.
func (c *Cluster) openDir() error {
	dir, err := filepath.Abs(c.options.Dir)
	if err != nil {
		return err
	}
	c.options.Dir = dir
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return &UsageError{"--dir: " + err.Error()}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return &UsageError{"--dir: " + err.Error()}
	}
	if _, err := os.Stat(c.path(lockFile)); len(entries) > 0 && err != nil {
		return &UsageError{fmt.Sprintf("--dir %s: not empty, and not from an earlier run: choose another", dir)}
	}
	if c.lock, err = lockPath(c.path(lockFile), os.O_CREATE|os.O_RDWR); err != nil {
		return &UsageError{fmt.Sprintf("--dir %s: another control plane runs here", dir)}
	}
	for _, pattern := range leftovers {
		found, _ := filepath.Glob(c.path(pattern))
		for _, path := range found {
			if err := os.RemoveAll(path); err != nil {
				return err
			}
		}
	}
	for _, name := range []string{"pki", "logs"} {
		if err := os.Mkdir(c.path(name), 0o755); err != nil {
			return err
		}
	}
	return os.WriteFile(c.path("audit-policy.yaml"), []byte(auditPolicy), 0o644)
}

// Env is what a test needs to know, as KEY=value.
func (c *Cluster) Env() []string {
	env := []string{
		"KUBECONFIG=" + c.path("kubeconfig"),
		"COTRAIN_TEST_DIR=" + c.options.Dir,
		"COTRAIN_TEST_KUBECONFIG=" + c.path("kubeconfig"),
		"COTRAIN_TEST_TOKEN_KUBECONFIG=" + c.path("token-kubeconfig"),
		"COTRAIN_TEST_SERVER=" + c.URL(),
		"COTRAIN_TEST_PKI=" + c.path("pki"),
		"COTRAIN_TEST_CONTROL=" + c.controlSocket(),
		"COTRAIN_TEST_CRDS=" + c.options.CRDDir,
	}
	if c.options.Audit {
		env = append(env, "COTRAIN_TEST_AUDIT="+c.path("audit.log"))
	}
	if kubectl, err := c.lookup("kubectl"); err == nil {
		env = append(env, "COTRAIN_TEST_KUBECTL="+kubectl)
	}
	sort.Strings(env)
	return env
}

func (c *Cluster) writeEnv() error {
	var text strings.Builder
	for _, line := range c.Env() {
		key, value, _ := strings.Cut(line, "=")
		fmt.Fprintf(&text, "export %s='%s'\n", key, strings.ReplaceAll(value, "'", `'\''`))
	}
	return os.WriteFile(c.path("env"), []byte(text.String()), 0o644)
}
