// Controllers with webhooks, JobSet's and the reference trainer's: outside of the cluster they serve the webhooks on
// a port of loopback, and the API server is told the URL instead of a service.
package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"cotrain.dev/controlplane/internal/kubeapi"
)

// managerKind is what differs between the controllers.
type managerKind struct {
	name     string
	binary   string
	crds     string // in the CRD directory
	webhooks string // in the CRD directory
	config   string // takes the webhook's port and its certificate directory
	// objectSelectors narrow webhooks down by name, as the project's own kustomization does.
	objectSelectors map[string]string
}

const jobsetPodsOnly = `{"matchExpressions":[{"key":"jobset.sigs.k8s.io/jobset-name","operator":"Exists"}]}`
const notDisabled = `{"matchExpressions":[{"key":"trainer.kubeflow.org/webhook-validation","operator":"NotIn","values":["disabled"]}]}`

var managerKinds = []managerKind{{
	name:     "jobset",
	binary:   "jobset",
	crds:     "jobset.yaml",
	webhooks: "webhooks/jobset.yaml",
	config: `apiVersion: config.jobset.x-k8s.io/v1alpha1
kind: Configuration
leaderElection: {leaderElect: false}
internalCertManagement: {enable: false}
webhook: {host: 127.0.0.1, port: %d, certDir: %q}
metrics: {bindAddress: "0"}
health: {healthProbeBindAddress: "0"}
clientConnection: {qps: 500, burst: 1000}
`,
	objectSelectors: map[string]string{"mpod.kb.io": jobsetPodsOnly, "vpod.kb.io": jobsetPodsOnly},
}, {
	name:     "reference",
	binary:   "trainer-controller-manager",
	crds:     "trainer",
	webhooks: "webhooks/trainer.yaml",
	// The directory cannot be set here: it is found below $TMPDIR.
	config: `apiVersion: config.trainer.kubeflow.org/v1alpha1
kind: Configuration
leaderElection: {leaderElect: false}
certManagement: {enable: false}
webhook: {host: 127.0.0.1, port: %d} # %s
metrics: {bindAddress: "0"}
health: {healthProbeBindAddress: "0"}
clientConnection: {qps: 500, burst: 1000}
`,
	objectSelectors: map[string]string{
		"validator.clustertrainingruntime.trainer.kubeflow.org": notDisabled,
		"validator.trainingruntime.trainer.kubeflow.org":        notDisabled,
	},
}}

// manager is one of them, ready to be started once its definitions are installed.
type manager struct {
	*part
	crds []kubeapi.CRD
}

// managers prepares those that are wanted: definitions, configuration, certificate.
func (c *Cluster) managers() ([]manager, error) {
	var wanted []manager
	for _, kind := range managerKinds {
		if !c.options.With[kind.name] {
			continue
		}
		crds, err := kubeapi.ReadCRDs(filepath.Join(c.options.CRDDir, kind.crds))
		if err != nil {
			return nil, &UsageError{fmt.Sprintf("--with %s: %v (test/controlplane/build.sh %s puts it there)", kind.name, err, kind.name)}
		}
		part, err := c.manager(kind)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", kind.name, err)
		}
		wanted = append(wanted, manager{part: part, crds: crds})
	}
	return wanted, nil
}

func (c *Cluster) manager(kind managerKind) (*part, error) {
	port, err := freePort("127.0.0.1")
	if err != nil {
		return nil, err
	}
	temporary := c.path("tmp", kind.name)
	certs := filepath.Join(temporary, "k8s-webhook-server", "serving-certs")
	if err := os.MkdirAll(certs, 0o755); err != nil {
		return nil, err
	}
	serving, err := c.pki.ca.Serving(kind.name+"-webhook", "127.0.0.1", "localhost")
	if err != nil {
		return nil, err
	}
	if err := serving.Write(certs, "tls"); err != nil {
		return nil, err
	}
	config := filepath.Join(temporary, "config.yaml")
	text := fmt.Sprintf(kind.config, port, certs) + strings.Join(append(c.options.Config[kind.name], ""), "\n")
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		return nil, err
	}
	hooks, err := c.webhooks(kind, port)
	if err != nil {
		return nil, err
	}
	ready := func(ctx context.Context) error { return c.installWebhooks(ctx, hooks) }
	part := c.part(kind.name, kind.binary, ready, "--config="+config)
	part.spec.Env = []string{"TMPDIR=" + temporary, "KUBECONFIG=" + c.path("pki", kind.name+".kubeconfig")}
	return part, nil
}

// webhookConfiguration is one object to apply and the URLs that it names.
type webhookConfiguration struct {
	path, text string
	urls       []string
}

// webhooks reads the manifests and turns services into URLs.
func (c *Cluster) webhooks(kind managerKind, port int) ([]webhookConfiguration, error) {
	documents, err := kubeapi.Documents(filepath.Join(c.options.CRDDir, kind.webhooks))
	if err != nil {
		return nil, err
	}
	var configurations []webhookConfiguration
	for _, document := range documents {
		var object struct {
			APIVersion string            `json:"apiVersion"`
			Kind       string            `json:"kind"`
			Metadata   map[string]string `json:"metadata"`
			Webhooks   []map[string]any  `json:"webhooks"`
		}
		if err := yaml.Unmarshal(document, &object); err != nil {
			return nil, fmt.Errorf("%s: %w", kind.webhooks, err)
		}
		object.Metadata = map[string]string{"name": kind.name}
		configuration := webhookConfiguration{
			path: "/apis/" + object.APIVersion + "/" + strings.ToLower(object.Kind) + "s/" + kind.name,
		}
		for _, hook := range object.Webhooks {
			service, _ := hook["clientConfig"].(map[string]any)["service"].(map[string]any)
			url := fmt.Sprintf("https://127.0.0.1:%d%v", port, service["path"])
			hook["clientConfig"] = map[string]any{"url": url, "caBundle": c.pki.ca.Cert}
			if selector, narrow := kind.objectSelectors[fmt.Sprint(hook["name"])]; narrow {
				hook["objectSelector"] = json.RawMessage(selector)
			}
			configuration.urls = append(configuration.urls, url)
		}
		text, err := json.Marshal(object)
		if err != nil {
			return nil, err
		}
		configuration.text = string(text)
		configurations = append(configurations, configuration)
	}
	return configurations, nil
}

// installWebhooks waits until every path is served, which comes after the port is open, before the API server may
// call it.
func (c *Cluster) installWebhooks(ctx context.Context, configurations []webhookConfiguration) error {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(c.pki.ca.Cert)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	defer transport.CloseIdleConnections()
	client := &http.Client{Timeout: time.Second, Transport: transport}
	for _, configuration := range configurations {
		for _, url := range configuration.urls {
			err := kubeapi.Until(ctx, url, func(context.Context) error { return served(client, url) })
			if err != nil {
				return err
			}
		}
		if err := c.client.Apply(ctx, configuration.path, []byte(configuration.text)); err != nil {
			return err
		}
	}
	return nil
}

func served(client *http.Client, url string) error {
	response, err := client.Get(url)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10))
	if response.StatusCode == http.StatusNotFound {
		return errors.New("not served yet")
	}
	return nil
}
