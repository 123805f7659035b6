// Temporary directories that are not left behind: removed when closed, by the guard when the program is killed, and
// by the next run if even the guard was.
package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"cotrain.dev/controlplane/internal/process"
)

const (
	memoryDir = "/dev/shm"
	// etcd lays its log out in 64 MB files and never gives one back within a run.
	minMemoryFree = 1 << 30
	maxSocketDir  = 50
	// A directory this young may not have been locked yet.
	sweepAge = time.Minute
)

// Scratch is such a directory.
type Scratch struct {
	Dir  string
	lock *os.File
}

// NewScratch makes one below parent after sweeping away those whose owner is gone.
func NewScratch(parent string, guard *process.Guard) (*Scratch, error) {
	sweep(parent)
	dir, err := os.MkdirTemp(parent, fmt.Sprintf("%s%d-*", process.GuardedPrefix, os.Getpid()))
	if err != nil {
		return nil, err
	}
	guard.Remove(dir)
	lock, err := lockPath(dir, os.O_RDONLY)
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	return &Scratch{Dir: dir, lock: lock}, nil
}

// Close removes it; a nil one is fine.
func (s *Scratch) Close() {
	if s != nil {
		_ = os.RemoveAll(s.Dir)
		_ = s.lock.Close()
	}
}

func sweep(parent string) {
	found, _ := filepath.Glob(filepath.Join(parent, process.GuardedPrefix+"*"))
	for _, dir := range found {
		info, err := os.Stat(dir)
		if err != nil || time.Since(info.ModTime()) < sweepAge {
			continue
		}
		if lock, err := lockPath(dir, os.O_RDONLY); err == nil {
			_ = os.RemoveAll(dir)
			_ = lock.Close()
		}
	}
}

// lockPath opens a file or directory and locks it until it is closed or the process ends; it does not wait.
func lockPath(path string, flags int) (*os.File, error) {
	file, err := os.OpenFile(path, flags, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// openScratch makes the run's own: in memory when there is plenty, with etcd's data then; otherwise for the sockets
// only, whose paths the system allows 107 bytes, while DIR may be as long as it likes.
func (c *Cluster) openScratch() error {
	var free syscall.Statfs_t
	var err error
	if failed := syscall.Statfs(memoryDir, &free); failed == nil && free.Bavail*uint64(free.Bsize) >= minMemoryFree {
		if c.scratch, err = NewScratch(memoryDir, c.guard); err == nil {
			c.data = filepath.Join(c.scratch.Dir, "etcd")
			return nil
		}
	}
	parent := os.TempDir()
	if len(parent) > maxSocketDir {
		parent = "/tmp"
	}
	c.data = c.path("data")
	c.scratch, err = NewScratch(parent, c.guard)
	return err
}
