// What a Pod of the operator may use: 256 MiB and 1,024 descriptors, held to it by the kernel.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

const (
	cageBytes       = 256 << 20
	cageDescriptors = 1024
)

// cage limits the processes that enter it.
type cage struct {
	dir     string // of the memory controller; empty: none can be had
	version int
}

// newCage makes a group below our own, so that whoever bounds us still bounds what is inside.
func newCage(name string) *cage {
	groups, _ := os.ReadFile("/proc/self/cgroup")
	for _, line := range strings.Split(string(groups), "\n") {
		parts := strings.SplitN(line, ":", 3)
		if len(parts) != 3 {
			continue
		}
		if parts[1] == "memory" {
			c := &cage{filepath.Join("/sys/fs/cgroup/memory", parts[2], name), 1}
			if c.make("memory.limit_in_bytes", "memory.memsw.limit_in_bytes") {
				return c
			}
		}
		if parts[0] == "0" {
			c := &cage{filepath.Join("/sys/fs/cgroup", parts[2], name), 2}
			if c.make("memory.max", "") {
				_ = os.WriteFile(filepath.Join(c.dir, "memory.swap.max"), []byte("0"), 0o644)
				return c
			}
		}
	}
	return &cage{}
}

func (c *cage) make(limit, swap string) bool {
	if os.Mkdir(c.dir, 0o755) != nil {
		return false
	}
	if os.WriteFile(filepath.Join(c.dir, limit), []byte(strconv.Itoa(cageBytes)), 0o644) != nil {
		_ = os.Remove(c.dir)
		return false
	}
	if swap != "" {
		_ = os.WriteFile(filepath.Join(c.dir, swap), []byte(strconv.Itoa(cageBytes)), 0o644)
	}
	return true
}

func (c *cage) remove() {
	if c.dir != "" {
		_ = os.Remove(c.dir)
	}
}

func (c *cage) String() string {
	if c.dir == "" {
		return fmt.Sprintf("NO MEMORY CGROUP CAN BE MADE HERE: RLIMIT_DATA of %d MiB instead, which counts address space, "+
			"and %d descriptors", cageBytes>>20, cageDescriptors)
	}
	return fmt.Sprintf("a memory cgroup (v%d) of %d MiB and %d descriptors", c.version, cageBytes>>20, cageDescriptors)
}

// command runs a program inside; its process number is the program's.
func (c *cage) command(program string, arguments ...string) []string {
	if c == nil {
		return append([]string{program}, arguments...)
	}
	limits := fmt.Sprintf("--nofile=%d:%d", cageDescriptors, cageDescriptors)
	if c.dir == "" {
		return append([]string{"prlimit", limits, fmt.Sprintf("--data=%d:%d", cageBytes, cageBytes), program}, arguments...)
	}
	enter := `echo $$ >"$0/cgroup.procs" && exec prlimit "$@"`
	return append([]string{"/bin/sh", "-c", enter, c.dir, limits, program}, arguments...)
}

// kills is how often the kernel ended a process here for lack of memory.
func (c *cage) kills() int {
	if c == nil {
		return 0
	}
	file := map[int]string{1: "memory.oom_control", 2: "memory.events"}[c.version]
	content, _ := os.ReadFile(filepath.Join(c.dir, file))
	for _, line := range strings.Split(string(content), "\n") {
		if count, found := strings.CutPrefix(line, "oom_kill "); found {
			n, _ := strconv.Atoi(count)
			return n
		}
	}
	return 0
}
