// The Kubernetes servers themselves: their flags, and how each is known to be ready.
package cluster

import (
	"context"
	"net"
	"path/filepath"
	"strconv"

	"cotrain.dev/controlplane/internal/kubeapi"
	"cotrain.dev/controlplane/internal/process"
)

const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`

func (c *Cluster) etcdSocket() string { return filepath.Join(c.scratch.Dir, "etcd.sock") }

// part makes a component whose output goes to logs/NAME.log; user flags come last so that they win.
func (c *Cluster) part(name, binary string, ready func(context.Context) error, args ...string) *part {
	return &part{name: name, ready: ready, grace: stopGrace, spec: process.Spec{
		Name: name,
		Path: c.binary(binary),
		Args: append(args, c.options.Args[name]...),
		Log:  c.path("logs", name+".log"),
	}}
}

// etcd listens on a Unix socket only: no port to collide with, and no other user of the machine gets in. It insists
// on advertising some TCP address, which nobody uses.
func (c *Cluster) etcd() *part {
	ready := func(ctx context.Context) error {
		return kubeapi.Until(ctx, "etcd", func(context.Context) error {
			connection, err := net.Dial("unix", c.etcdSocket())
			if err == nil {
				_ = connection.Close()
			}
			return err
		})
	}
	part := c.part("etcd", "etcd", ready,
		"--name=test",
		"--data-dir="+c.data,
		"--unsafe-no-fsync",
		"--log-level=warn",
		"--listen-client-urls=unix://"+c.etcdSocket(),
		"--advertise-client-urls=http://127.0.0.1:1",
		"--listen-peer-urls=unix://"+filepath.Join(c.scratch.Dir, "peer.sock"),
		"--initial-advertise-peer-urls=http://127.0.0.1:2",
		"--initial-cluster=test=http://127.0.0.1:2",
	)
	part.grace = etcdGrace
	return part
}

func (c *Cluster) apiserver() *part {
	ready := func(ctx context.Context) error { return kubeapi.Until(ctx, "/readyz", c.client.Ready) }
	args := []string{
		"--etcd-servers=unix://" + c.etcdSocket(),
		"--bind-address=" + c.options.Address,
		"--advertise-address=" + c.options.Address,
		"--secure-port=" + strconv.Itoa(c.port.number),
		"--permit-port-sharing", // with our reservation, which keeps the port ours while the server is down
		"--tls-cert-file=" + c.path("pki", "apiserver.crt"),
		"--tls-private-key-file=" + c.path("pki", "apiserver.key"),
		"--client-ca-file=" + c.path("pki", "ca.crt"),
		"--service-account-issuer=" + kubeapi.Issuer,
		"--service-account-key-file=" + c.path("pki", "sa.pub"),
		"--service-account-signing-key-file=" + c.path("pki", "sa.key"),
		"--service-cluster-ip-range=10.96.0.0/16",
		"--authorization-mode=RBAC",
		"--allow-privileged",
		"--endpoint-reconciler-type=none", // an address of loopback is refused as an endpoint, over and over
	}
	if !c.options.With["kcm"] {
		// Nobody makes the default service accounts, without which this plugin refuses every Pod.
		args = append(args, "--disable-admission-plugins=ServiceAccount")
	}
	if c.options.Audit {
		args = append(args,
			"--audit-policy-file="+c.path("audit-policy.yaml"),
			"--audit-log-path="+c.path("audit.log"),
			"--audit-log-maxsize=512", // MB; the one before is kept as well
			"--audit-log-maxbackup=1",
		)
	}
	return c.part("apiserver", "kube-apiserver", ready, args...)
}

// controllerManager is ready when it has made the default service account, the first thing anyone needs of it.
func (c *Cluster) controllerManager() *part {
	ready := func(ctx context.Context) error {
		return kubeapi.Until(ctx, "default service account", func(ctx context.Context) error {
			return c.client.Get(ctx, "/api/v1/namespaces/default/serviceaccounts/default", nil)
		})
	}
	return c.part("kcm", "kube-controller-manager", ready,
		"--kubeconfig="+c.path("pki", "kcm.kubeconfig"),
		"--secure-port=0",
		"--leader-elect=false",
		"--use-service-account-credentials", // RBAC gives each controller its own rights
		"--service-account-private-key-file="+c.path("pki", "sa.key"),
		"--root-ca-file="+c.path("pki", "ca.crt"),
		"--allocate-node-cidrs=false",
		"--kube-api-qps=500",
		"--kube-api-burst=1000",
	)
}

// scheduler shows nothing without a port; a Pod made before it is up is scheduled a moment later.
func (c *Cluster) scheduler() *part {
	return c.part("scheduler", "kube-scheduler", func(context.Context) error { return nil },
		"--kubeconfig="+c.path("pki", "scheduler.kubeconfig"),
		"--secure-port=0",
		"--leader-elect=false",
		"--kube-api-qps=500",
		"--kube-api-burst=1000",
	)
}
