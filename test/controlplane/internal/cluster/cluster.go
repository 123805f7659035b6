// Package cluster is a control plane on loopback for one test run: etcd, kube-apiserver and what else is asked for,
// started in order, watched, restartable one by one, and gone without a trace when stopped.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"cotrain.dev/controlplane/internal/kubeapi"
	"cotrain.dev/controlplane/internal/process"
)

// Options say what to start. Zero values are usable except for Dir and Bin.
type Options struct {
	Dir     string              // logs, certificates, kubeconfig, control socket; made if missing
	Bin     []string            // directories searched for binaries, in this order
	CRDDir  string              // definitions and webhook manifests of JobSet and of the reference controller
	With    map[string]bool     // of Extras
	CRDs    []string            // files or directories to install
	Audit   bool                // DIR/audit.log, one JSON event a line
	Address string              // where the API server listens; empty: 127.0.0.1
	Port    int                 // 0: any
	Args    map[string][]string // more flags by component
	Config  map[string][]string // more lines for the configuration files of jobset and reference
	Timeout time.Duration       // for each component to become ready
}

// Extras are the components that run only when asked for.
var Extras = []string{"kcm", "scheduler", "jobset", "reference"}

// Cluster is a running control plane.
type Cluster struct {
	options Options
	guard   *process.Guard
	lock    *os.File // held for as long as Dir is ours
	scratch *Scratch // sockets, and etcd's data when it is in memory
	data    string   // etcd's
	port    *reservedPort
	pki     identities
	client  *kubeapi.Client
	tokens  *kubeapi.TokenSigner
	control net.Listener
	crds    []kubeapi.CRD

	mutex sync.Mutex // one command at a time
	parts []*part
	// Failed gets the first end of a component that nobody asked for.
	Failed chan error
}

// Start returns when everything asked for is ready. The context ends the start, not the cluster. On an error nothing
// is left running.
func Start(ctx context.Context, options Options, guard *process.Guard) (cluster *Cluster, err error) {
	if options.Address == "" {
		options.Address = "127.0.0.1"
	}
	c := &Cluster{options: options, guard: guard, Failed: make(chan error, 1)}
	defer func() {
		if err != nil {
			c.Stop()
			cluster = nil
		}
	}()
	if err := c.prepare(); err != nil {
		return nil, err
	}
	if err := c.startServers(ctx); err != nil {
		return nil, err
	}
	if err := c.startExtras(ctx); err != nil {
		return nil, err
	}
	if err := c.writeEnv(); err != nil {
		return nil, err
	}
	return c, c.listenControl()
}

// prepare does all that can fail because of bad options, before anything runs.
func (c *Cluster) prepare() error {
	for _, path := range c.options.CRDs {
		crds, err := kubeapi.ReadCRDs(path)
		if err != nil {
			return &UsageError{"--crds " + err.Error()}
		}
		c.crds = append(c.crds, crds...)
	}
	if err := c.findBinaries(); err != nil {
		return err
	}
	if err := c.openDir(); err != nil {
		return err
	}
	err := c.openScratch()
	if err != nil {
		return err
	}
	if c.port, err = reservePort(c.options.Address, c.options.Port); err != nil {
		return err
	}
	if c.pki, err = c.makeIdentities(); err != nil {
		return err
	}
	if c.client, err = kubeapi.NewClient(c.URL(), c.pki.ca.Cert, c.pki.admin); err != nil {
		return err
	}
	c.tokens, err = kubeapi.NewTokenSigner(c.client, c.pki.tokenKey)
	return err
}

func (c *Cluster) startServers(ctx context.Context) error {
	// The API server tries etcd again only after a second, so etcd comes first; it takes a tenth of one.
	for _, part := range []*part{c.etcd(), c.apiserver()} {
		c.parts = append(c.parts, part)
		if err := c.run(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// startExtras installs definitions and starts the controllers, which need them, at the same time as each other.
func (c *Cluster) startExtras(ctx context.Context) error {
	managers, err := c.managers()
	if err != nil {
		return err
	}
	for _, manager := range managers {
		c.crds = append(c.crds, manager.crds...)
	}
	bounded, cancel := c.bounded(ctx)
	defer cancel()
	if err := errors.Join(c.client.InstallCRDs(bounded, c.crds), c.writeTokenKubeconfig(bounded)); err != nil {
		return err
	}
	var extras []*part
	if c.options.With["kcm"] {
		extras = append(extras, c.controllerManager())
	}
	if c.options.With["scheduler"] {
		extras = append(extras, c.scheduler())
	}
	for _, manager := range managers {
		extras = append(extras, manager.part)
	}
	c.parts = append(c.parts, extras...)
	failures := make([]error, len(extras))
	var all sync.WaitGroup
	for i, part := range extras {
		all.Add(1)
		go func() {
			defer all.Done()
			failures[i] = c.run(ctx, part)
		}()
	}
	all.Wait()
	return errors.Join(failures...)
}

// Stop ends everything at once: nothing here survives, so nothing needs to be said goodbye to.
func (c *Cluster) Stop() {
	if c.control != nil {
		_ = c.control.Close()
	}
	var all sync.WaitGroup
	for _, part := range c.parts {
		all.Add(1)
		go func() { defer all.Done(); part.stop(0) }()
	}
	all.Wait()
	c.scratch.Close()
	c.port.close()
	if c.lock != nil { // otherwise the directory is somebody else's
		_ = os.Remove(c.path("control.sock"))
		_ = c.lock.Close()
	}
}

// URL is the API server's.
func (c *Cluster) URL() string {
	return "https://" + net.JoinHostPort(c.options.Address, strconv.Itoa(c.port.number))
}

func (c *Cluster) path(elements ...string) string {
	return filepath.Join(append([]string{c.options.Dir}, elements...)...)
}

// errTimeout is what a wait that took too long says.
var errTimeout = errors.New("not in time")

func (c *Cluster) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, c.options.Timeout, fmt.Errorf("%w (%v)", errTimeout, c.options.Timeout))
}

// UsageError is one the caller of the command can cure.
type UsageError struct{ text string }

func (e *UsageError) Error() string { return e.text }
