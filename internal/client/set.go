package client

import (
	"context"
	"fmt"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/allot-dev/allot/api"
	allotv1alpha1 "github.com/allot-dev/allot/api/allot/v1alpha1"
	placement "github.com/allot-dev/allot/api/placement/v1alpha2"
)

// Object is a pointer to an API object.
type Object interface {
	runtime.Object
	metav1.Object
}

// Set has a client for each kind that allot uses.
type Set struct {
	config  *rest.Config
	dialect Dialect
	servers map[schema.GroupVersion]server // by hub version
	taints  server                         // client of DeviceTaintRules
}

// server is the client of one version, with the codec of the parameters of its requests.
type server struct {
	rest.Interface
	parameters runtime.ParameterCodec
}

// New returns a Set for allot's own server at cfg, with protobuf encoding.
func New(cfg *rest.Config) (*Set, error) { return NewFor(cfg, Dialect{}) }

// NewFor returns a Set for a server of this dialect.
func NewFor(cfg *rest.Config, dialect Dialect) (*Set, error) {
	if err := dialect.check(); err != nil {
		return nil, err
	}
	if cfg.UserAgent == "" { // shown in managed fields and audit logs
		cfg = rest.CopyConfig(cfg)
		cfg.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	httpClient, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("make an HTTP client for %s: %w", cfg.Host, err)
	}
	scheme := dialect.scheme()
	set := &Set{config: cfg, dialect: dialect, servers: map[schema.GroupVersion]server{}}
	dial := func(served schema.GroupVersion, scheme *runtime.Scheme, serializer runtime.NegotiatedSerializer) (server,
		error) {
		c, err := rest.RESTClientForConfigAndClient(configFor(cfg, served, serializer), httpClient)
		if err != nil {
			return server{}, fmt.Errorf("make a client for %s: %w", served, err)
		}
		return server{c, runtime.NewParameterCodec(scheme)}, nil
	}
	for _, hub := range api.Hubs() {
		served := hub
		if hub == schedulingv1beta1.SchemeGroupVersion {
			served = dialect.GroupVersion()
		}
		if set.servers[hub], err = dial(served, scheme, dialect.serializer(scheme, served, hub)); err != nil {
			return nil, err
		}
	}
	rules := dialect.taintRules()
	set.taints, err = dial(rules, scheme, dialect.serializer(scheme, rules, resourcev1.SchemeGroupVersion))
	return set, err
}

func configFor(cfg *rest.Config, gv schema.GroupVersion, serializer runtime.NegotiatedSerializer) *rest.Config {
	out := rest.CopyConfig(cfg)
	out.GroupVersion = &gv
	out.APIPath = "/apis"
	if gv.Group == "" {
		out.APIPath = "/api"
	}
	out.NegotiatedSerializer = serializer
	out.ContentType = runtime.ContentTypeProtobuf
	out.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	// kinds of a CustomResourceDefinition have no protobuf encoding
	if gv.Group == allotv1alpha1.GroupName {
		out.ContentType, out.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	}
	return out
}

// Dialect returns the dialect of the server.
func (s *Set) Dialect() Dialect { return s.dialect }

// Config returns the configuration that the Set was created from.
func (s *Set) Config() *rest.Config { return s.config }

// server returns the client of the version that serves a resource, which is named in its hub
// version. It panics for a description of a kind that is not of a hub version.
func (s *Set) server(resource schema.GroupVersionResource) server {
	if resource == deviceTaintRules.resource {
		return s.taints
	}
	server, ok := s.servers[resource.GroupVersion()]
	if !ok {
		panic(resource.String() + " is not of a version in api.Hubs")
	}
	return server
}

// Bind binds a pod to the node in binding.Target.
func (s *Set) Bind(ctx context.Context, binding *corev1.Binding) error {
	return s.servers[corev1.SchemeGroupVersion].Post().Namespace(binding.Namespace).Resource("pods").Name(binding.Name).
		SubResource("binding").Body(binding).Do(ctx).Error()
}

// ServesPlacements reports whether the server binds the pods of a plan as a whole, as allot's own
// server does.
func (s *Set) ServesPlacements(ctx context.Context) (bool, error) {
	path := "/apis/" + placement.SchemeGroupVersion.String()
	err := s.servers[placement.SchemeGroupVersion].Get().AbsPath(path).Do(ctx).Error()
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// Place creates the claims and binds the pods of a Placement, all or none. The result has its status,
// and not its spec.
func (s *Set) Place(ctx context.Context, request *placement.Placement) (*placement.Placement, error) {
	result := &placement.Placement{}
	manager, _, _ := strings.Cut(s.config.UserAgent, "/") // as servers take it from other requests
	err := s.servers[placement.SchemeGroupVersion].Post().Namespace(request.Namespace).Resource("placements").
		Param("fieldManager", manager).Body(request).Do(ctx).Into(result)
	return result, err
}

// Evict requests the eviction of a pod, subject to its disruption budgets.
func (s *Set) Evict(ctx context.Context, eviction *policyv1.Eviction) error {
	return s.servers[corev1.SchemeGroupVersion].Post().Namespace(eviction.Namespace).Resource("pods").Name(eviction.Name).
		SubResource("eviction").Body(eviction).Do(ctx).Error()
}

// FinalizeNamespace replaces spec.finalizers of a namespace.
func (s *Set) FinalizeNamespace(ctx context.Context, namespace *corev1.Namespace) error {
	return s.servers[corev1.SchemeGroupVersion].Put().Resource("namespaces").Name(namespace.Name).
		SubResource("finalize").Body(namespace).Do(ctx).Error()
}

// UpdateApproval replaces the conditions by which a request for a certificate is approved or denied.
func (s *Set) UpdateApproval(ctx context.Context, request *certificatesv1.CertificateSigningRequest) error {
	return s.servers[certificatesv1.SchemeGroupVersion].Put().Resource("certificatesigningrequests").Name(request.Name).
		SubResource("approval").Body(request).Do(ctx).Error()
}
