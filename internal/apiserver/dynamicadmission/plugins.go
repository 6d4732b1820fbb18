package dynamicadmission

import (
	"context"
	"fmt"
	"io"
	"time"

	"go.opentelemetry.io/otel/trace/noop"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	mutatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	validatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota"
	webhookinitializer "k8s.io/apiserver/pkg/admission/plugin/webhook/initializer"
	mutatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/mutating"
	validatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/validating"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/compatibility"

	"github.com/allot-dev/allot/internal/quota"
)

// quotaEvaluators is how many requests are charged to quotas at a time.
const quotaEvaluators = 5

// Config has the dependencies of the plugins.
type Config struct {
	// Loopback is a client configuration that may read everything.
	Loopback *rest.Config
	// Authorizer decides what expressions ask about users.
	Authorizer authorizer.Authorizer
	Version    compatibility.EffectiveVersion
	Mapper     Mapper
	Services   webhook.ServiceResolver
	// Drained is closed when the server has processed its last request.
	Drained <-chan struct{}
}

// Plugins are the plugins, in the order in which a request goes through them.
type Plugins struct {
	shared      informers.SharedInformerFactory
	initializer admission.PluginInitializers
	drained     <-chan struct{}
	types       *typeChecking

	mutatingPolicy, mutatingWebhook     mutatingPlugin
	validatingPolicy, validatingWebhook validatingPlugin
	resourceQuota                       validatingPlugin
}

// New returns the plugins. They follow their configuration when they are started.
func New(cfg Config) (*Plugins, error) {
	client, err := kubernetes.NewForConfig(cfg.Loopback)
	if err != nil {
		return nil, fmt.Errorf("a client for admission: %w", err)
	}
	params, err := dynamic.NewForConfig(cfg.Loopback)
	if err != nil {
		return nil, fmt.Errorf("a client for parameters of policies: %w", err)
	}
	p := &Plugins{shared: informers.NewSharedInformerFactory(client, 0), drained: cfg.Drained}
	p.initializer = admission.PluginInitializers{
		initializer.New(client, params, p.shared, cfg.Authorizer, utilfeature.DefaultFeatureGate, cfg.Version, cfg.Drained,
			cfg.Mapper),
		webhookinitializer.NewPluginInitializer(
			webhook.NewDefaultAuthenticationInfoResolverWrapper(nil, nil, cfg.Loopback, noop.NewTracerProvider()), cfg.Services),
		exclusionInitializer{}, quotaInitializer{},
	}
	p.mutatingPolicy.deferredPlugin = deferredPlugin{
		name: mutatingpolicy.PluginName, build: builderOf(p, mutatingpolicy.NewPlugin),
	}
	p.mutatingWebhook.deferredPlugin = deferredPlugin{
		name:  mutatingwebhook.PluginName,
		build: builderOf(p, mutatingwebhook.NewMutatingWebhook),
	}
	p.validatingPolicy.deferredPlugin = deferredPlugin{
		name:  validatingpolicy.PluginName,
		build: builderOf(p, validatingpolicy.NewPlugin),
	}
	p.validatingWebhook.deferredPlugin = deferredPlugin{
		name:  validatingwebhook.PluginName,
		build: builderOf(p, validatingwebhook.NewValidatingAdmissionWebhook),
	}
	if p.types, err = newTypeChecking(client, p.shared.Admissionregistration().V1().ValidatingAdmissionPolicies(),
		cfg.Mapper); err != nil {
		return nil, err
	}
	p.resourceQuota.deferredPlugin = deferredPlugin{
		name: resourcequota.PluginName,
		build: builderOf(p, func(io.Reader) (*resourcequota.QuotaAdmission, error) {
			return resourcequota.NewResourceQuota(nil, quotaEvaluators)
		}),
	}
	return p, p.follow()
}

func (p *Plugins) follow() error {
	kinds := p.shared.Admissionregistration().V1()
	for _, follow := range []func() error{
		func() error {
			return p.mutatingPolicy.follow(kinds.MutatingAdmissionPolicies().Informer(),
				kinds.MutatingAdmissionPolicyBindings().Informer())
		},
		func() error { return p.mutatingWebhook.follow(kinds.MutatingWebhookConfigurations().Informer()) },
		func() error {
			return p.validatingPolicy.follow(kinds.ValidatingAdmissionPolicies().Informer(),
				kinds.ValidatingAdmissionPolicyBindings().Informer())
		},
		func() error { return p.validatingWebhook.follow(kinds.ValidatingWebhookConfigurations().Informer()) },
		func() error { return p.resourceQuota.follow(p.shared.Core().V1().ResourceQuotas().Informer()) },
	} {
		if err := follow(); err != nil {
			return err
		}
	}
	return nil
}

// Start makes the plugins follow their configuration until ctx ends.
func (p *Plugins) Start(ctx context.Context) {
	p.shared.StartWithContext(ctx)
	go p.types.run(ctx)
}

// Behind returns a chain of the built-in rules and the plugins.
func (p *Plugins) Behind(rules admission.Interface) admission.Interface {
	return reinvocation{
		admission.NewChainHandler(rules, &p.mutatingPolicy, &p.mutatingWebhook, &p.validatingPolicy, &p.validatingWebhook,
			&p.resourceQuota),
	}
}

// builderOf returns a function that makes a plugin with a constructor of k8s.io/apiserver, and
// starts what it follows.
func builderOf[P admission.Interface](
	p *Plugins, construct func(config io.Reader) (P, error),
) func() (admission.Interface, error) {
	return func() (admission.Interface, error) {
		plugin, err := construct(nil)
		if err != nil {
			return nil, err
		}
		p.initializer.Initialize(plugin)
		if err := admission.ValidateInitialization(plugin); err != nil {
			return nil, err
		}
		p.shared.Start(p.drained) // the informers that the plugin has added
		return plugin, nil
	}
}

// exclusionInitializer initializes plugins with the resources that they leave alone.
type exclusionInitializer struct{}

// Initialize implements admission.PluginInitializer.
func (exclusionInitializer) Initialize(plugin admission.Interface) {
	if wants, ok := plugin.(interface {
		SetExcludedAdmissionResources(excluded []schema.GroupResource)
	}); ok {
		wants.SetExcludedAdmissionResources(Excluded())
	}
}

// quotaInitializer initializes the plugin of quotas with what is counted. The plugin charges single
// objects, and never lists.
type quotaInitializer struct{}

// Initialize implements admission.PluginInitializer.
func (quotaInitializer) Initialize(plugin admission.Interface) {
	if wants, ok := plugin.(initializer.WantsQuotaConfiguration); ok {
		list := func(resource schema.GroupResource, _ string) ([]runtime.Object, error) {
			return nil, fmt.Errorf("%s are not listed for admission", resource)
		}
		wants.SetQuotaConfiguration(generic.NewConfiguration(quota.Evaluators(list, time.Now), uncounted()))
	}
}

// uncounted returns the resources that no quota counts: events, which report about others, and
// reviews.
func uncounted() map[schema.GroupResource]struct{} {
	out := map[schema.GroupResource]struct{}{
		{Resource: "bindings"}:                       {},
		{Resource: "events"}:                         {},
		{Group: "events.k8s.io", Resource: "events"}: {},
	}
	for _, r := range Excluded() {
		out[r] = struct{}{}
	}
	return out
}
