package dynamicadmission

import (
	"context"
	"fmt"
	"io"

	"go.opentelemetry.io/otel/trace/noop"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	mutatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	validatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	webhookinitializer "k8s.io/apiserver/pkg/admission/plugin/webhook/initializer"
	mutatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/mutating"
	validatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/validating"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/compatibility"
)

// Config is what the plugins need of the server.
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

// Plugins are the four plugins, in the order in which a request goes through them.
type Plugins struct {
	shared      informers.SharedInformerFactory
	initializer admission.PluginInitializers
	drained     <-chan struct{}
	types       *typeChecking

	mutatingPolicy, mutatingWebhook     mutating
	validatingPolicy, validatingWebhook validating
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
		initializer.New(client, params, p.shared, cfg.Authorizer, utilfeature.DefaultFeatureGate, cfg.Version, cfg.Drained, cfg.Mapper),
		webhookinitializer.NewPluginInitializer(
			webhook.NewDefaultAuthenticationInfoResolverWrapper(nil, nil, cfg.Loopback, noop.NewTracerProvider()), cfg.Services),
		excluding{},
	}
	p.mutatingPolicy.deferred = deferred{name: mutatingpolicy.PluginName, build: building(p, mutatingpolicy.NewPlugin)}
	p.mutatingWebhook.deferred = deferred{name: mutatingwebhook.PluginName, build: building(p, mutatingwebhook.NewMutatingWebhook)}
	p.validatingPolicy.deferred = deferred{name: validatingpolicy.PluginName, build: building(p, validatingpolicy.NewPlugin)}
	p.validatingWebhook.deferred = deferred{name: validatingwebhook.PluginName, build: building(p, validatingwebhook.NewValidatingAdmissionWebhook)}
	if p.types, err = newTypeChecking(client, p.shared.Admissionregistration().V1().ValidatingAdmissionPolicies(), cfg.Mapper); err != nil {
		return nil, err
	}
	return p, p.follow()
}

func (p *Plugins) follow() error {
	kinds := p.shared.Admissionregistration().V1()
	for _, follow := range []func() error{
		func() error {
			return p.mutatingPolicy.follow(kinds.MutatingAdmissionPolicies().Informer(), kinds.MutatingAdmissionPolicyBindings().Informer())
		},
		func() error { return p.mutatingWebhook.follow(kinds.MutatingWebhookConfigurations().Informer()) },
		func() error {
			return p.validatingPolicy.follow(kinds.ValidatingAdmissionPolicies().Informer(), kinds.ValidatingAdmissionPolicyBindings().Informer())
		},
		func() error { return p.validatingWebhook.follow(kinds.ValidatingWebhookConfigurations().Informer()) },
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
	return reinvoking{admission.NewChainHandler(rules, &p.mutatingPolicy, &p.mutatingWebhook, &p.validatingPolicy, &p.validatingWebhook)}
}

// building returns a function that makes a plugin with a constructor of k8s.io/apiserver, and starts what it follows.
func building[P admission.Interface](p *Plugins, construct func(config io.Reader) (P, error)) func() (admission.Interface, error) {
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

// excluding initializes plugins with the resources that they leave alone.
type excluding struct{}

// Initialize implements admission.PluginInitializer.
func (excluding) Initialize(plugin admission.Interface) {
	if wants, ok := plugin.(interface {
		SetExcludedAdmissionResources(excluded []schema.GroupResource)
	}); ok {
		wants.SetExcludedAdmissionResources(Excluded())
	}
}
