package offline

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	utiladmission "k8s.io/apiserver/pkg/admission"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/allot-dev/allot/internal/apiserver/admission"
	"github.com/allot-dev/allot/internal/apiserver/gates"
	"github.com/allot-dev/allot/internal/apiserver/registry"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/features"
	"github.com/allot-dev/allot/internal/snapshot"
)

// Server completes objects. It implements forecast.Server.
type Server struct {
	scheme  *runtime.Scheme
	decoder runtime.Decoder
	kinds   map[reflect.Type]kind
	hubs    map[schema.GroupKind]schema.GroupVersionKind // the versions that allot uses
}

// kind has the rules of the objects of one Go type.
type kind struct {
	registry.Rules
	resource schema.GroupVersionResource
}

// ErrUnknownKind means that the API server does not have the kind, so that it is a custom resource.
var ErrUnknownKind = errors.New("unknown kind")

// New returns a Server with the kinds of a scheme, which must have the defaults of all kinds.
func New(scheme *runtime.Scheme) (*Server, error) {
	s := &Server{
		scheme: scheme, kinds: map[reflect.Type]kind{}, hubs: map[schema.GroupKind]schema.GroupVersionKind{},
		decoder: serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer(),
	}
	for resource, rules := range registry.RulesByResource(scheme) {
		object, err := scheme.New(rules.Kind)
		if err != nil {
			return nil, fmt.Errorf("kind %s: %w", rules.Kind, err)
		}
		s.hubs[rules.Kind.GroupKind()] = rules.Kind
		s.kinds[reflect.TypeOf(object)] = kind{Rules: rules, resource: resource.WithVersion(rules.Versions[0])}
	}
	return s, nil
}

// Decode returns the object of a manifest in JSON, with its defaults, in the version that allot uses.
func (s *Server) Decode(manifest []byte) (client.Object, error) {
	object, gvk, err := s.decoder.Decode(manifest, nil, nil)
	switch {
	case runtime.IsNotRegisteredError(err):
		return nil, fmt.Errorf("%w: %w", ErrUnknownKind, err)
	case err != nil:
		return nil, err
	}
	hub, ok := s.hubs[gvk.GroupKind()]
	if !ok {
		return nil, fmt.Errorf("%w: %s", ErrUnknownKind, gvk)
	}
	s.scheme.Default(object) // those of the version of the manifest
	if object, err = s.scheme.ConvertToVersion(object, hub.GroupVersion()); err != nil {
		return nil, fmt.Errorf("convert %s to %s: %w", gvk, hub.Version, err)
	}
	o, ok := object.(client.Object)
	if !ok {
		return nil, fmt.Errorf("%w: %T", ErrUnknownKind, object)
	}
	o.GetObjectKind().SetGroupVersionKind(hub)
	return o, nil
}

// Namespaced reports whether objects of this kind are in namespaces.
func (s *Server) Namespaced(object client.Object) bool {
	known, ok := s.kinds[reflect.TypeOf(object)]
	return ok && known.Create.NamespaceScoped()
}

// Create completes a new object, and returns why the server would refuse it.
func (s *Server) Create(object client.Object, in *snapshot.World) error {
	k, err := s.kindOf(object, in)
	if err != nil {
		return err
	}
	s.scheme.Default(object)
	ctx := genericapirequest.WithNamespace(context.Background(), object.GetNamespace())
	chain := admission.New(reader{in}, admission.Rules{})
	attributes := utiladmission.NewAttributesRecord(
		object,
		nil,
		k.Kind,
		object.GetNamespace(),
		object.GetName(),
		k.resource,
		"",
		utiladmission.Create,
		nil,
		false,
		nil,
	)
	if err := chain.Admit(ctx, attributes, nil); err != nil {
		return err
	}
	k.Create.PrepareForCreate(ctx, object)
	gates.Drop(in.Features, object, nil)
	if errs := k.Create.Validate(ctx, object); len(errs) > 0 {
		return apierrors.NewInvalid(k.Kind.GroupKind(), object.GetName(), errs)
	}
	k.Create.Canonicalize(object)
	return chain.Validate(ctx, attributes, nil)
}

// Merge returns an existing object with the fields that a manifest in JSON has, and why the server
// would refuse the change.
func (s *Server) Merge(old client.Object, manifest []byte, in *snapshot.World) (client.Object, error) {
	k, err := s.kindOf(old, in)
	if err != nil {
		return nil, err
	}
	before, err := json.Marshal(old)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", old.GetName(), err)
	}
	merged, err := strategicpatch.StrategicMergePatch(before, manifest, old)
	if err != nil {
		return nil, fmt.Errorf("merge: %w", err)
	}
	object, ok := reflect.TypeAssert[client.Object](reflect.New(reflect.TypeOf(old).Elem()))
	if !ok {
		return nil, fmt.Errorf("%w: %T", ErrUnknownKind, old)
	}
	if err := json.Unmarshal(merged, object); err != nil {
		return nil, fmt.Errorf("merge: %w", err)
	}
	s.scheme.Default(object)
	snapshot.Prune(object)
	object.SetCreationTimestamp(old.GetCreationTimestamp()) // JSON has seconds
	object.GetObjectKind().SetGroupVersionKind(old.GetObjectKind().GroupVersionKind())
	ctx := genericapirequest.WithNamespace(context.Background(), object.GetNamespace())
	k.Update.PrepareForUpdate(ctx, object, old)
	gates.Drop(in.Features, object, old)
	version := object.GetResourceVersion()
	object.SetResourceVersion(cmp.Or(version, "1")) // an update must have one
	if errs := k.Update.ValidateUpdate(ctx, object, old); len(errs) > 0 {
		return nil, apierrors.NewInvalid(k.Kind.GroupKind(), object.GetName(), errs)
	}
	object.SetResourceVersion(version)
	k.Update.Canonicalize(object)
	return object, nil
}

// kindOf returns the rules of an object, if the server serves its kind.
func (s *Server) kindOf(object client.Object, in *snapshot.World) (kind, error) {
	k, ok := s.kinds[reflect.TypeOf(object)]
	if !ok {
		return kind{}, fmt.Errorf("%w: %T", ErrUnknownKind, object)
	}
	if off := slices.IndexFunc(k.Gates, func(g features.Gate) bool { return !in.Features.On(g) }); off >= 0 {
		return kind{}, fmt.Errorf("the server does not serve %s: the feature %s is off", k.resource.GroupResource(),
			k.Gates[off])
	}
	return k, nil
}
