package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// server is the target behind a rest.Config.
type server struct {
	objects dynamic.Interface
	mapper  meta.ResettableRESTMapper
}

func newServer(cfg *rest.Config) (*server, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1 // the server is local, so client-side throttling has no use
	objects, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("make a client for %s: %w", cfg.Host, err)
	}
	kinds, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("make a client for %s: %w", cfg.Host, err)
	}
	return &server{
		objects: objects,
		mapper:  restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(kinds)),
	}, nil
}

func (s *server) Kind(gvk schema.GroupVersionKind) (kind, error) {
	mapping, err := s.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		s.mapper.Reset()
		mapping, err = s.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	}
	if err != nil {
		return kind{}, err
	}
	return kind{mapping.Resource, mapping.Scope.Name() == meta.RESTScopeNameNamespace}, nil
}

func (s *server) Get(ctx context.Context, k kind, namespace, name string) (*unstructured.Unstructured, error) {
	return s.objects.Resource(k.resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
}

func (s *server) Apply(
	ctx context.Context, k kind, obj *unstructured.Unstructured, dry bool,
) (*unstructured.Unstructured, error) {
	data, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	opts := metav1.PatchOptions{
		FieldManager:    FieldManager,
		FieldValidation: metav1.FieldValidationStrict,
		Force:           new(true),
	}
	if dry {
		opts.DryRun = []string{metav1.DryRunAll}
	}
	return s.objects.Resource(k.resource).Namespace(
		obj.GetNamespace(),
	).Patch(ctx, obj.GetName(), types.ApplyPatchType, data, opts)
}
