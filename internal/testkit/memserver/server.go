package memserver

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/endpoints/filters"
	endpoints "k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-base/compatibility"
	"k8s.io/kube-openapi/pkg/common"

	"github.com/allot-dev/allot/api/openapi"
	"github.com/allot-dev/allot/internal/apiserver"
	"github.com/allot-dev/allot/internal/apiserver/admission"
	"github.com/allot-dev/allot/internal/apiserver/inmemory"
	"github.com/allot-dev/allot/internal/apiserver/rbac"
	"github.com/allot-dev/allot/internal/apiserver/registry"
	"github.com/allot-dev/allot/internal/features"
)

// Server serves the API from a Memory.
type Server struct {
	*Memory
	transport inmemory.Transport
	kinds     *registry.Registry
}

// host is a name that is never resolved.
const host = "allot.invalid:443"

// New returns a server without objects. It must not be called in a bubble.
func New() (*Server, error) {
	s := &Server{Memory: newMemory()}
	handler, err := s.handler()
	if err != nil {
		return nil, fmt.Errorf("memserver: %w", err)
	}
	s.transport.Serve(handler)
	return s, s.begin()
}

// begin writes the status of a claim, which makes the server start its watch of allocated devices.
// That watch lasts as long as the server, so it must not start in a bubble.
func (s *Server) begin() error {
	r, err := http.NewRequest(
		http.MethodPut,
		"https://"+host+"/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/none/status",
		strings.NewReader(
			`{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"namespace":"default","name":"none"}}`,
		),
	)
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := s.transport.RoundTrip(r)
	if err != nil {
		return fmt.Errorf("memserver: %w", err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusNotFound {
		return fmt.Errorf("memserver: write the status of a claim that is not there: %s", resp.Status)
	}
	return nil
}

// Config returns a config for clients. wrap, if not nil, wraps their transport.
func (s *Server) Config(wrap func(http.RoundTripper) http.RoundTripper) *rest.Config {
	return &rest.Config{Host: "https://" + host, Transport: &s.transport, WrapTransport: wrap, QPS: -1}
}

func (s *Server) handler() (http.Handler, error) {
	scheme, err := apiserver.NewScheme()
	if err != nil {
		return nil, err
	}
	codecs := serializer.NewCodecFactory(scheme)
	kinds, err := registry.New(registry.Config{
		Scheme: scheme, Codecs: codecs, Getter: s,
		Access: registry.Access{Authorizer: authorizerfactory.NewAlwaysAllowAuthorizer(), Policy: rbac.NewPolicy()},
		Alone:  func() bool { return true }, Journal: journal{s}, Features: features.All(),
	})
	if err != nil {
		return nil, err
	}
	s.kinds = kinds
	cfg := genericapiserver.NewConfig(codecs)
	cfg.EffectiveVersion = compatibility.NewEffectiveVersionFromString(apiserver.KubernetesVersion, "", "")
	cfg.ExternalAddress = host
	cfg.LoopbackClientConfig = &rest.Config{}
	cfg.AdmissionControl = admission.New(kinds.Lookup(), admission.Rules{})
	kinds.SetAdmission(cfg.AdmissionControl)
	cfg.BuildHandlerChainFunc = chain
	if err := describe(cfg, scheme); err != nil {
		return nil, err
	}
	front, err := cfg.Complete(nil).New("memserver", genericapiserver.NewEmptyDelegate())
	if err != nil {
		return nil, err
	}
	return front.Handler, kinds.Install(front)
}

// chain returns the handler chain of a request. Nothing in it waits, or ends with the server.
func chain(handler http.Handler, cfg *genericapiserver.Config) http.Handler {
	administrator := &user.DefaultInfo{Name: "admin", Groups: []string{user.SystemPrivilegedGroup}}
	named := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w, r.WithContext(request.WithUser(r.Context(), administrator)))
	})
	return filters.WithRequestReceivedTimestamp(
		filters.WithRequestInfo(filters.WithAuditInit(named), cfg.RequestInfoResolver),
	)
}

// describe sets the OpenAPI models of the kinds, which the endpoints need to track field managers.
func describe(cfg *genericapiserver.Config, scheme *runtime.Scheme) error {
	builder, err := openapi.NewBuilder(openapi.Roots(scheme)...)
	if err != nil {
		return err
	}
	var failed error
	definitions := func(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
		own, err := builder.Build(ref)
		failed = errors.Join(failed, err)
		return own
	}
	cfg.SkipOpenAPIInstallation = true
	cfg.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(definitions, endpoints.NewDefinitionNamer(scheme))
	cfg.OpenAPIV3Config.GetDefinitionName = openapi.Namer(scheme)
	return failed
}

// GetRESTOptions implements generic.RESTOptionsGetter.
func (s *Server) GetRESTOptions(resource schema.GroupResource, _ runtime.Object) (generic.RESTOptions, error) {
	config := storagebackend.NewDefaultConfig("/registry", nil)
	return generic.RESTOptions{
		StorageConfig:           config.ForResource(resource),
		Decorator:               s.storage,
		EnableGarbageCollection: true,
		DeleteCollectionWorkers: 1,
		ResourcePrefix:          strings.TrimSuffix(prefixOf(resource), "/"),
	}, nil
}

// storage is a generic.StorageDecorator.
func (s *Server) storage(
	_ *storagebackend.ConfigForResource,
	prefix string,
	_ func(runtime.Object) (string, error),
	newOne, _ func() runtime.Object,
	_ storage.AttrFunc,
	_ storage.IndexerFuncs,
	_ *cache.Indexers,
) (storage.Interface, factory.DestroyFunc, error) {
	return &store{memory: s.Memory, prefix: prefix + "/", newOne: newOne}, func() {}, nil
}
