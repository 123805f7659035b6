// Package box is a controller as people write them with controller-runtime, and what it needs of envtest's API server.
package box

import (
	"context"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	admission "k8s.io/api/admissionregistration/v1"
	apps "k8s.io/api/apps/v1"
	authentication "k8s.io/api/authentication/v1"
	autoscaling "k8s.io/api/autoscaling/v1"
	batch "k8s.io/api/batch/v1"
	coordination "k8s.io/api/coordination/v1"
	core "k8s.io/api/core/v1"
	definitions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	review "sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

const finalizer = "example.com/widget"

var (
	environment *envtest.Environment
	config      *rest.Config
	api         client.WithWatch
	ctx, cancel = context.WithCancel(context.Background())
	ended       = make(chan error, 1)
	widgetKind  = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
)

func TestBox(t *testing.T) {
	gomega.RegisterFailHandler(ginkgo.Fail)
	ginkgo.RunSpecs(t, "box")
}

func properties(of map[string]definitions.JSONSchemaProps) definitions.JSONSchemaProps {
	return definitions.JSONSchemaProps{Type: "object", Properties: of}
}

func widgetVersion(name string, storage bool) definitions.CustomResourceDefinitionVersion {
	most, selector := 9.0, ".status.selector"
	whole := properties(map[string]definitions.JSONSchemaProps{
		"spec": properties(map[string]definitions.JSONSchemaProps{
			"size":   {Type: "integer", Maximum: &most, Default: &definitions.JSON{Raw: []byte("1")}},
			"colour": {Type: "string", Enum: []definitions.JSON{{Raw: []byte(`"red"`)}, {Raw: []byte(`"blue"`)}}},
		}),
		"status": properties(map[string]definitions.JSONSchemaProps{"made": {Type: "integer"}, "selector": {Type: "string"}}),
	})
	whole.Properties["spec"] = func() definitions.JSONSchemaProps {
		spec := whole.Properties["spec"]
		spec.Default = &definitions.JSON{Raw: []byte("{}")}
		return spec
	}()
	return definitions.CustomResourceDefinitionVersion{
		Name: name, Served: true, Storage: storage, Schema: &definitions.CustomResourceValidation{OpenAPIV3Schema: &whole},
		Subresources: &definitions.CustomResourceSubresources{
			Status: &definitions.CustomResourceSubresourceStatus{},
			Scale: &definitions.CustomResourceSubresourceScale{
				SpecReplicasPath: ".spec.size", StatusReplicasPath: ".status.made", LabelSelectorPath: &selector},
		},
	}
}

func widgets() *definitions.CustomResourceDefinition {
	return &definitions.CustomResourceDefinition{
		ObjectMeta: meta.ObjectMeta{Name: "widgets.example.com"},
		Spec: definitions.CustomResourceDefinitionSpec{
			Group: "example.com", Scope: definitions.NamespaceScoped,
			Names:    definitions.CustomResourceDefinitionNames{Kind: "Widget", Plural: "widgets"},
			Versions: []definitions.CustomResourceDefinitionVersion{widgetVersion("v1beta1", false), widgetVersion("v1", true)},
		},
	}
}

func hook(path string) (admission.WebhookClientConfig, []admission.RuleWithOperations) {
	return admission.WebhookClientConfig{Service: &admission.ServiceReference{Name: "box", Namespace: "default", Path: &path}},
		[]admission.RuleWithOperations{{
			Operations: []admission.OperationType{admission.Create, admission.Update},
			Rule:       admission.Rule{APIGroups: []string{"example.com"}, APIVersions: []string{"*"}, Resources: []string{"widgets"}},
		}}
}

func hooks() envtest.WebhookInstallOptions {
	none, v1 := admission.SideEffectClassNone, []string{"v1"}
	mutate, rules := hook("/mutate")
	validate, _ := hook("/validate")
	return envtest.WebhookInstallOptions{
		MutatingWebhooks: []*admission.MutatingWebhookConfiguration{{
			ObjectMeta: meta.ObjectMeta{Name: "box"},
			Webhooks: []admission.MutatingWebhook{{
				Name: "mutate.example.com", ClientConfig: mutate, Rules: rules, SideEffects: &none, AdmissionReviewVersions: v1}},
		}},
		ValidatingWebhooks: []*admission.ValidatingWebhookConfiguration{{
			ObjectMeta: meta.ObjectMeta{Name: "box"},
			Webhooks: []admission.ValidatingWebhook{{
				Name: "validate.example.com", ClientConfig: validate, Rules: rules, SideEffects: &none, AdmissionReviewVersions: v1}},
		}},
	}
}

func widget(name string) *unstructured.Unstructured {
	out := &unstructured.Unstructured{}
	out.SetGroupVersionKind(widgetKind)
	out.SetNamespace("default")
	out.SetName(name)
	return out
}

// A reconciler: a ConfigMap for each widget by server-side apply, its status, and a finalizer until it is told to go.
type reconciler struct{ client.Client }

func (r reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	live := widget("")
	if err := r.Get(ctx, request.NamespacedName, live); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if live.GetDeletionTimestamp() != nil {
		if controllerutil.RemoveFinalizer(live, finalizer) {
			return ctrl.Result{}, client.IgnoreNotFound(r.Update(ctx, live))
		}
		return ctrl.Result{}, nil
	}
	if controllerutil.AddFinalizer(live, finalizer) {
		return ctrl.Result{}, r.Update(ctx, live)
	}
	size, _, _ := unstructured.NestedInt64(live.Object, "spec", "size")
	made := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"size": strconv.FormatInt(size, 10)}}}
	made.SetNamespace(live.GetNamespace())
	made.SetName(live.GetName())
	if err := controllerutil.SetControllerReference(live, made, r.Scheme()); err != nil {
		return ctrl.Result{}, err
	}
	if err := r.Apply(ctx, client.ApplyConfigurationFromUnstructured(made), client.FieldOwner("box"), client.ForceOwnership); err != nil {
		return ctrl.Result{}, err
	}
	if now, _, _ := unstructured.NestedInt64(live.Object, "status", "made"); now == size {
		return ctrl.Result{}, nil
	}
	if err := unstructured.SetNestedField(live.Object, size, "status", "made"); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.Status().Update(ctx, live)
}

func mutate(_ context.Context, request review.Request) review.Response {
	return review.Patched("", webhook.JSONPatchOp{
		Operation: "add", Path: "/metadata/labels", Value: map[string]any{"seen-by": request.UserInfo.Username}})
}

func validate(_ context.Context, request review.Request) review.Response {
	if request.Name == "refused" {
		return review.Denied("that name is taken")
	}
	return review.Allowed("")
}

func must(err error) { gomega.ExpectWithOffset(1, err).NotTo(gomega.HaveOccurred()) }

func startManager() {
	host := environment.WebhookInstallOptions
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Metrics: metrics.Options{BindAddress: "0"}, LeaderElection: true, LeaderElectionID: "box", LeaderElectionNamespace: "default",
		WebhookServer: webhook.NewServer(webhook.Options{
			Host: host.LocalServingHost, Port: host.LocalServingPort, CertDir: host.LocalServingCertDir}),
	})
	must(err)
	manager.GetWebhookServer().Register("/mutate", &webhook.Admission{Handler: review.HandlerFunc(mutate)})
	manager.GetWebhookServer().Register("/validate", &webhook.Admission{Handler: review.HandlerFunc(validate)})
	must(ctrl.NewControllerManagedBy(manager).For(widget("")).Owns(&core.ConfigMap{}).Named("box").
		Complete(reconciler{manager.GetClient()}))
	go func() { ended <- manager.Start(ctx) }()
	gomega.Eventually(func() error {
		address := net.JoinHostPort(host.LocalServingHost, strconv.Itoa(host.LocalServingPort))
		link, err := net.Dial("tcp", address)
		if err == nil {
			link.Close()
		}
		return err
	}, time.Minute).Should(gomega.Succeed())
}

var _ = ginkgo.BeforeSuite(func() {
	environment = &envtest.Environment{
		CRDs: []*definitions.CustomResourceDefinition{widgets()}, WebhookInstallOptions: hooks()}
	var err error
	config, err = environment.Start()
	must(err)
	api, err = client.NewWithWatch(config, client.Options{Scheme: scheme.Scheme})
	must(err)
	startManager()
})

var _ = ginkgo.AfterSuite(func() {
	cancel()
	must(<-ended)
	must(environment.Stop())
})

var _ = ginkgo.Describe("a controller of controller-runtime", func() {
	ginkgo.It("reconciles, with status, owner and finalizer", func() {
		one := widget("one")
		must(unstructured.SetNestedField(one.Object, int64(3), "spec", "size"))
		must(api.Create(ctx, one))
		gomega.Expect(one.GetLabels()).To(gomega.HaveKeyWithValue("seen-by", "admin"))
		made := &core.ConfigMap{}
		gomega.Eventually(func(g gomega.Gomega) {
			g.Expect(api.Get(ctx, client.ObjectKeyFromObject(one), made)).To(gomega.Succeed())
			g.Expect(api.Get(ctx, client.ObjectKeyFromObject(one), one)).To(gomega.Succeed())
			now, _, _ := unstructured.NestedInt64(one.Object, "status", "made")
			g.Expect(now).To(gomega.Equal(int64(3)))
		}, time.Minute).Should(gomega.Succeed())
		gomega.Expect(made.Data).To(gomega.Equal(map[string]string{"size": "3"}))
		gomega.Expect(meta.IsControlledBy(made, one)).To(gomega.BeTrue())
		gomega.Expect(one.GetGeneration()).To(gomega.Equal(int64(1)))
		must(api.Delete(ctx, one))
		gomega.Eventually(func() bool {
			return apierrors.IsNotFound(api.Get(ctx, client.ObjectKeyFromObject(one), one))
		}, time.Minute).Should(gomega.BeTrue())
	})

	ginkgo.It("holds its lease", func() {
		lease := &coordination.Lease{}
		gomega.Eventually(func() error {
			return api.Get(ctx, client.ObjectKey{Namespace: "default", Name: "box"}, lease)
		}, time.Minute).Should(gomega.Succeed())
		gomega.Expect(*lease.Spec.HolderIdentity).NotTo(gomega.BeEmpty())
		gomega.Expect(lease.Spec.RenewTime).NotTo(gomega.BeNil())
	})

	ginkgo.It("is asked before a widget is stored", func() {
		err := api.Create(ctx, widget("refused"))
		gomega.Expect(apierrors.IsForbidden(err)).To(gomega.BeTrue())
		gomega.Expect(err).To(gomega.MatchError(gomega.ContainSubstring("that name is taken")))
	})
})

var _ = ginkgo.Describe("an API server of envtest", func() {
	ginkgo.It("prunes, defaults and judges by the schema", func() {
		one := widget("by-schema")
		must(unstructured.SetNestedField(one.Object, "x", "spec", "unknown"))
		must(api.Create(ctx, one))
		gomega.Expect(one.Object["spec"]).To(gomega.Equal(map[string]any{"size": int64(1)}))
		must(unstructured.SetNestedField(one.Object, "green", "spec", "colour"))
		gomega.Expect(apierrors.IsInvalid(api.Update(ctx, one))).To(gomega.BeTrue())
	})

	ginkgo.It("serves all versions", func() {
		old := widget("old")
		old.SetAPIVersion("example.com/v1beta1")
		must(api.Create(ctx, old))
		gomega.Expect(old.GetAPIVersion()).To(gomega.Equal("example.com/v1beta1"))
		now := widget("old")
		must(api.Get(ctx, client.ObjectKeyFromObject(old), now))
		gomega.Expect(now.GetAPIVersion()).To(gomega.Equal("example.com/v1"))
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion("example.com/v1beta1")
		list.SetKind("WidgetList")
		must(api.List(ctx, list, client.InNamespace("default")))
		gomega.Expect(list.Items).NotTo(gomega.BeEmpty())
		gomega.Expect(list.Items[0].GetAPIVersion()).To(gomega.Equal("example.com/v1beta1"))
	})

	ginkgo.It("scales", func() {
		one := widget("scaled")
		must(api.Create(ctx, one))
		scale := &unstructured.Unstructured{}
		scale.SetGroupVersionKind(autoscaling.SchemeGroupVersion.WithKind("Scale"))
		must(api.SubResource("scale").Get(ctx, one, scale))
		gomega.Expect(scale.Object["spec"]).To(gomega.HaveKeyWithValue("replicas", int64(1)))
		must(unstructured.SetNestedField(scale.Object, int64(4), "spec", "replicas"))
		must(api.SubResource("scale").Update(ctx, one, client.WithSubResourceBody(scale)))
		must(api.Get(ctx, client.ObjectKeyFromObject(one), one))
		gomega.Expect(one.Object["spec"]).To(gomega.HaveKeyWithValue("size", int64(4)))
	})

	ginkgo.It("takes typed objects and gives them back", func() {
		yes, seconds := false, int64(7)
		container := core.Container{
			Name: "c", Image: "i:1", Env: []core.EnvVar{{Name: "A", Value: "b"}},
			Ports: []core.ContainerPort{{ContainerPort: 80}},
			Resources: core.ResourceRequirements{
				Requests: core.ResourceList{core.ResourceCPU: resource.MustParse("100m")}},
			LivenessProbe: &core.Probe{ProbeHandler: core.ProbeHandler{
				HTTPGet: &core.HTTPGetAction{Path: "/", Port: intstr.FromString("http")}}},
		}
		template := core.PodTemplateSpec{
			ObjectMeta: meta.ObjectMeta{Labels: map[string]string{"app": "a"}},
			Spec: core.PodSpec{Containers: []core.Container{container}, HostNetwork: true, EnableServiceLinks: &yes,
				Volumes: []core.Volume{{Name: "v", VolumeSource: core.VolumeSource{
					Secret: &core.SecretVolumeSource{SecretName: "s"}}}}},
		}
		deployment := &apps.Deployment{
			ObjectMeta: meta.ObjectMeta{Namespace: "default", Name: "typed"},
			Spec:       apps.DeploymentSpec{Selector: &meta.LabelSelector{MatchLabels: map[string]string{"app": "a"}}, Template: template}}
		must(api.Create(ctx, deployment))
		scale := &autoscaling.Scale{}
		must(api.SubResource("scale").Get(ctx, deployment, scale))
		gomega.Expect(scale.Spec.Replicas).To(gomega.Equal(int32(1)))
		gomega.Expect(scale.Status.Selector).To(gomega.Equal("app=a"))
		read := deployment.Spec.Template.Spec
		gomega.Expect(read.HostNetwork).To(gomega.BeTrue())
		gomega.Expect(*read.EnableServiceLinks).To(gomega.BeFalse())
		gomega.Expect(read.DNSPolicy).To(gomega.Equal(core.DNSClusterFirst))
		gomega.Expect(read.Containers[0].LivenessProbe.HTTPGet.Port.StrVal).To(gomega.Equal("http"))
		gomega.Expect(read.Containers[0].Resources.Requests.Cpu().String()).To(gomega.Equal("100m"))
		gomega.Expect(read.Volumes[0].Secret.SecretName).To(gomega.Equal("s"))
		job := &batch.Job{ObjectMeta: meta.ObjectMeta{Namespace: "default", GenerateName: "typed-"},
			Spec: batch.JobSpec{Template: template, ActiveDeadlineSeconds: &seconds}}
		job.Spec.Template.Spec.RestartPolicy = core.RestartPolicyNever
		must(api.Create(ctx, job))
		gomega.Expect(*job.Spec.BackoffLimit).To(gomega.Equal(int32(6)))
		gomega.Expect(job.Spec.Selector.MatchLabels).To(gomega.HaveKeyWithValue(batch.ControllerUidLabel, string(job.UID)))
		job.Status.Active = 1
		job.Status.StartTime = &meta.Time{Time: time.Unix(1_700_000_000, 0)}
		must(api.Status().Update(ctx, job))
		must(api.Get(ctx, client.ObjectKeyFromObject(job), job))
		gomega.Expect(job.Status.StartTime.Unix()).To(gomega.Equal(int64(1_700_000_000)))
		secret := &core.Secret{ObjectMeta: meta.ObjectMeta{Namespace: "default", Name: "typed"}, Data: map[string][]byte{"k": {1, 255}}}
		must(api.Create(ctx, secret))
		must(api.Get(ctx, client.ObjectKeyFromObject(secret), secret))
		gomega.Expect(secret.Data["k"]).To(gomega.Equal([]byte{1, 255}))
	})

	ginkgo.It("tells who owns a field, and who wants it", func() {
		apply := func(owner, value string, options ...client.ApplyOption) error {
			one := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
				"metadata": map[string]any{"namespace": "default", "name": "owned"}, "data": map[string]any{"k": value}}}
			return api.Apply(ctx, client.ApplyConfigurationFromUnstructured(one), append(options, client.FieldOwner(owner))...)
		}
		must(apply("a", "1"))
		gomega.Expect(apierrors.IsConflict(apply("b", "2"))).To(gomega.BeTrue())
		must(apply("b", "2", client.ForceOwnership))
	})

	ginkgo.It("watches what a selector takes", func() {
		stream, err := api.Watch(ctx, &core.ConfigMapList{}, client.InNamespace("default"), client.MatchingLabels{"w": "1"})
		must(err)
		defer stream.Stop()
		one := &core.ConfigMap{ObjectMeta: meta.ObjectMeta{Namespace: "default", Name: "watched", Labels: map[string]string{"w": "1"}}}
		must(api.Create(ctx, one))
		must(api.Patch(ctx, one.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(`{"data":{"a":"b"}}`))))
		must(api.DeleteAllOf(ctx, &core.ConfigMap{}, client.InNamespace("default"), client.MatchingLabels{"w": "1"}))
		for _, each := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted} {
			gomega.Expect((<-stream.ResultChan()).Type).To(gomega.Equal(each))
		}
	})

	ginkgo.It("knows its users by their certificates", func() {
		user, err := environment.AddUser(envtest.User{Name: "ann", Groups: []string{"testers"}}, nil)
		must(err)
		as, err := client.New(user.Config(), client.Options{})
		must(err)
		who := &authentication.SelfSubjectReview{}
		must(as.Create(ctx, who))
		gomega.Expect(who.Status.UserInfo.Username).To(gomega.Equal("ann"))
		gomega.Expect(who.Status.UserInfo.Groups).To(gomega.ContainElement("testers"))
		nobody, err := client.New(rest.AnonymousClientConfig(config), client.Options{})
		if err == nil {
			err = nobody.List(ctx, &core.SecretList{})
		}
		gomega.Expect(err).To(gomega.HaveOccurred())
	})
})
