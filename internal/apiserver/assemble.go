package apiserver

import (
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	genericfilters "k8s.io/apiserver/pkg/server/filters"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/allot-dev/allot/api"
	"github.com/allot-dev/allot/internal/apiserver/admission"
	"github.com/allot-dev/allot/internal/apiserver/dynamicadmission"
	"github.com/allot-dev/allot/internal/apiserver/registry"
	"github.com/allot-dev/allot/internal/apiserver/token"
	"github.com/allot-dev/allot/internal/pki"
)

const (
	// deleteWorkers is the number of objects of a collection that are deleted concurrently.
	deleteWorkers = 16
	// loopbackHost is only a name: in-process requests do not resolve it.
	loopbackHost = "https://allot.invalid"
	// drainWatches limits how long open watches delay a stop.
	drainWatches = 2 * time.Second
)

// NewScheme returns a scheme with all served kinds, in all versions, with their defaults.
func NewScheme() (*runtime.Scheme, error) {
	scheme := api.NewScheme()
	if err := registry.AddToScheme(scheme); err != nil {
		return nil, err
	}
	if err := dynamicadmission.AddConversions(scheme); err != nil {
		return nil, err
	}
	return scheme, registry.AddDefaults(scheme, time.Now)
}

// assemble builds the chain of servers: allot's own first, and the server for custom resources as
// its delegate.
func (s *Server) assemble(cfg Config) (*genericapiserver.GenericAPIServer, error) {
	scheme, err := NewScheme()
	if err != nil {
		return nil, err
	}
	codecs := serializer.NewCodecFactory(scheme)
	generic, err := s.genericConfig(cfg, scheme, codecs)
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(s.Loopback())
	if err != nil {
		return nil, fmt.Errorf("a client for the server itself: %w", err)
	}
	mapper, services := dynamicadmission.NewMapper(client.Discovery()), dynamicadmission.NewServices(client)
	access := registry.Access{Authorizer: generic.Authorization.Authorizer, Policy: s.policy, Tokens: s.tokens}
	kinds, err := registry.New(registry.Config{
		Scheme: scheme, Codecs: codecs, Getter: kubernetesKeys{generic.RESTOptionsGetter, registry.StorageKeys()},
		Access: access, Features: cfg.Features, Alone: s.backend.isAlone, Resource: mapper.Resource,
		Journal: s.backend.journal(), DeviceRefused: cfg.DeviceRefused, ServiceRange: cfg.ServiceClusterIPRange,
		Kubelets: s.certificates.kubeletTransport(),
	})
	if err != nil {
		return nil, err
	}
	s.tokens.Read(kinds.Lookup())
	s.bootstrap.Read(kinds.Lookup())
	s.nodes.Objects = kinds.Lookup()
	plugins, err := dynamicadmission.New(dynamicadmission.Config{
		Loopback: s.Loopback(), Authorizer: generic.Authorization.Authorizer, Version: generic.EffectiveVersion,
		Mapper: mapper, Services: services, Drained: generic.DrainedNotify(),
	})
	if err != nil {
		return nil, err
	}
	generic.AdmissionControl = plugins.Behind(
		admission.New(kinds.Lookup(), admission.Rules{
			Nodes: s.nodes, ServiceAccounts: cfg.ServiceAccounts, Authorizer: generic.Authorization.Authorizer,
		}),
	)
	kinds.SetAdmission(generic.AdmissionControl)
	s.resume = kinds.Resume
	custom, err := s.newCustomResources(generic, services)
	if err != nil {
		return nil, fmt.Errorf("custom resources: %w", err)
	}
	s.backend.exportSize()
	front, err := generic.Complete(nil).New("allot", custom.GenericAPIServer)
	if err != nil {
		return nil, err
	}
	if cfg.Metrics != nil {
		// the delegate has registered it, with the metrics of the API server
		front.Handler.NonGoRestfulMux.Unregister("/metrics")
		front.Handler.NonGoRestfulMux.Handle("/metrics", cfg.Metrics)
	}
	if err := kinds.Install(front); err != nil {
		return nil, err
	}
	if err := addHooks(generic, front, custom, serverService(cfg, s.listener.Addr())); err != nil {
		return nil, err
	}
	if err := followPolicy(front, s.Loopback(), s.policy); err != nil {
		return nil, err
	}
	if err := front.AddPostStartHook("allot-admission", func(hook genericapiserver.PostStartHookContext) error {
		plugins.Start(hook)
		return nil
	}); err != nil {
		return nil, err
	}
	if err := front.AddPreShutdownHook("allot-start", s.endStart); err != nil {
		return nil, err
	}
	return front, nil
}

// longRunning reports whether a request may exceed the request timeout. A watch and a connection to a
// container last as long as their client wants. The deletion of a collection takes time in proportion
// to its objects: if it were interrupted, some objects would remain, and the client could not tell
// which.
func longRunning() genericapirequest.LongRunningRequestCheck {
	return genericfilters.BasicLongRunningRequestCheck(
		sets.NewString("watch", "proxy", "deletecollection"),
		sets.NewString("attach", "exec", "log", "portforward", "proxy"),
	)
}

// genericConfig returns the configuration of the server in front.
func (s *Server) genericConfig(
	cfg Config, scheme *runtime.Scheme, codecs serializer.CodecFactory,
) (*genericapiserver.Config, error) {
	generic := genericapiserver.NewConfig(codecs)
	generic.EffectiveVersion = newEffectiveVersion()
	generic.ShutdownWatchTerminationGracePeriod = drainWatches
	generic.LongRunningFunc = longRunning()
	generic.BuildHandlerChainFunc = func(handler http.Handler, c *genericapiserver.Config) http.Handler {
		return genericapiserver.DefaultBuildHandlerChain(withResourceVersion(handler, c.Serializer), c)
	}
	generic.AggregatedDiscoveryGroupManager = aggregated.NewResourceManager("apis")
	s.loopback = &rest.Config{Host: loopbackHost, BearerToken: uuid.NewString(), Transport: s.transport, QPS: -1}
	generic.LoopbackClientConfig = s.loopback
	if err := addTracing(generic, cfg.TracingFile); err != nil {
		return nil, err
	}
	s.tracing = generic.TracerProvider
	if err := s.secure(cfg, generic); err != nil {
		return nil, err
	}
	var err error
	if generic.Authentication.Authenticator, err = newAuthenticator(generic.SecureServing.ClientCA, s.tokens,
		s.bootstrap, cfg.TokenFile); err != nil {
		return nil, err
	}
	if generic.Authorization.Authorizer, err = newAuthorizer(s.policy, s.nodes); err != nil {
		return nil, err
	}
	if err := setOpenAPI(generic, scheme); err != nil {
		return nil, err
	}

	versions := registry.StoredVersions()
	codec := codecs.CodecForVersions(protobufSerializer(codecs), codecs.UniversalDeserializer(), versions,
		runtime.InternalGroupVersioner)
	if err := s.backend.options(codec, versions).ApplyTo(generic); err != nil {
		return nil, fmt.Errorf("storage: %w", err)
	}
	generic.RESTOptionsGetter = s.backend.wrap(generic.RESTOptionsGetter)
	s.backend.addHealthCheck(generic)
	return generic, nil
}

// secure opens the listener and creates its certificates.
func (s *Server) secure(cfg Config, generic *genericapiserver.Config) error {
	authority, err := pki.Open(cfg.PKIDir, cfg.now)
	if err != nil {
		return err
	}
	if s.listener, err = cfg.listen(); err != nil {
		return err
	}
	if s.certificates, err = newCertificates(authority, s.listener.Addr()); err != nil {
		return err
	}
	signing, err := authority.Key("service-accounts")
	if err != nil {
		return err
	}
	if s.tokens, err = token.New(signing, time.Now); err != nil {
		return err
	}
	s.bootstrap = token.NewBootstrap(time.Now)
	ca, err := dynamiccertificates.NewDynamicCAContentFromFile("ca", authority.CertFile())
	if err != nil {
		return err
	}
	generic.SecureServing = &genericapiserver.SecureServingInfo{Listener: s.listener, Cert: s.certificates, ClientCA: ca}
	generic.ExternalAddress = s.listener.Addr().String()
	s.url = "https://" + reachedAt(s.listener.Addr())
	return nil
}

func protobufSerializer(codecs serializer.CodecFactory) runtime.Serializer {
	info, _ := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	return info.Serializer
}
