// Tests that temporary directories of ended runs are swept away, and no others.
package cluster

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"cotrain.dev/controlplane/internal/process"
)

func TestSweepTakesOnlyWhatIsOldAndUnlocked(t *testing.T) {
	parent := t.TempDir()
	make := func(name string, age time.Duration) string {
		dir := filepath.Join(parent, name)
		then := time.Now().Add(-age)
		if err := os.MkdirAll(filepath.Join(dir, "etcd"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(dir, then, then); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	stale := make(process.GuardedPrefix+"1", 2*sweepAge)
	young := make(process.GuardedPrefix+"2", 0)
	used := make(process.GuardedPrefix+"3", 2*sweepAge)
	foreign := make("precious", 2*sweepAge)
	lock, err := lockPath(used, os.O_RDONLY)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	sweep(parent)
	if _, err := os.Stat(stale); !os.IsNotExist(err) {
		t.Errorf("a stale directory: %v", err)
	}
	for _, dir := range []string{young, used, foreign} {
		if _, err := os.Stat(dir); err != nil {
			t.Errorf("removed: %v", err)
		}
	}
}
