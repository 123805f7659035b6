// Where the programs are: the first of several directories that has them.
package cluster

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// findBinaries looks for all that will be needed, so that a missing one is said before anything runs.
func (c *Cluster) findBinaries() error {
	needed := []string{"etcd", "kube-apiserver"}
	for extra, binary := range map[string]string{"kcm": "kube-controller-manager", "scheduler": "kube-scheduler"} {
		if c.options.With[extra] {
			needed = append(needed, binary)
		}
	}
	for _, kind := range managerKinds {
		if c.options.With[kind.name] {
			needed = append(needed, kind.binary)
		}
	}
	for _, name := range needed {
		if _, err := c.lookup(name); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) lookup(name string) (string, error) {
	for _, dir := range c.options.Bin {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return filepath.Abs(path)
		}
	}
	return "", &UsageError{fmt.Sprintf("%s: not in %s; test/controlplane/build.sh builds it", name, strings.Join(c.options.Bin, ", "))}
}

// binary is lookup for what findBinaries has found.
func (c *Cluster) binary(name string) string {
	path, _ := c.lookup(name)
	return path
}
