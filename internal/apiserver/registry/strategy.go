package registry

import (
	"context"
	"reflect"
	"slices"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	storagenames "k8s.io/apiserver/pkg/storage/names"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/allot-dev/allot/internal/apiserver/gates"
	"github.com/allot-dev/allot/internal/apiserver/quantity"
	"github.com/allot-dev/allot/internal/features"
)

// strategy implements the generic registry's create, update and delete
// strategies for one kind.
type strategy[T any, P pointer[T]] struct {
	runtime.ObjectTyper
	storagenames.NameGenerator
	kind       *kind[T, P]
	features   features.Set
	quantities *quantity.Finder
}

var (
	_ rest.RESTCreateStrategy              = strategy[metav1.PartialObjectMetadata, *metav1.PartialObjectMetadata]{}
	_ rest.RESTUpdateStrategy              = strategy[metav1.PartialObjectMetadata, *metav1.PartialObjectMetadata]{}
	_ rest.RESTGracefulDeleteStrategy      = strategy[metav1.PartialObjectMetadata, *metav1.PartialObjectMetadata]{}
	_ rest.GarbageCollectionDeleteStrategy = strategy[metav1.PartialObjectMetadata, *metav1.PartialObjectMetadata]{}
	_ rest.ResetFieldsStrategy             = strategy[metav1.PartialObjectMetadata, *metav1.PartialObjectMetadata]{}
)

func (s strategy[T, P]) NamespaceScoped() bool { return !s.kind.names.cluster }

func (s strategy[T, P]) AllowCreateOnUpdate(context.Context) bool { return s.kind.createOnUpdate }

func (s strategy[T, P]) AllowUnconditionalUpdate(ctx context.Context) bool {
	if !s.kind.needsVersion {
		return true
	}
	info, ok := genericapirequest.RequestInfoFrom(ctx)
	return ok && slices.Contains(s.kind.unconditionalIn, info.APIVersion)
}

// PrepareForCreate clears fields that a client must not set.
func (s strategy[T, P]) PrepareForCreate(ctx context.Context, obj runtime.Object) {
	p := obj.(P)
	if len(s.quantities.TooLarge(obj)) > 0 {
		return // it is rejected, and preparing compares quantities
	}
	if s.kind.status != nil && !s.kind.statusAtCreate {
		reflect.ValueOf(s.kind.status(p)).Elem().SetZero()
	}
	gates.Drop(s.features, obj, nil)
	gates.DropAbsent(s.features, obj, nil)
	if s.kind.generation && !(s.kind.keepsGeneration && p.GetGeneration() < 0) {
		p.SetGeneration(1)
	}
	if s.kind.prepareCreate != nil {
		s.kind.prepareCreate(ctx, p)
	}
}

// PrepareForUpdate keeps the stored status and increments the generation if the spec changed.
func (s strategy[T, P]) PrepareForUpdate(ctx context.Context, obj, old runtime.Object) {
	p, o := obj.(P), old.(P)
	if len(s.quantities.TooLarge(obj)) > 0 {
		return // as in PrepareForCreate
	}
	sameType(p, o)
	if s.kind.status != nil {
		copyPart(s.kind.status, p, o)
	}
	if s.kind.prepareUpdate != nil {
		s.kind.prepareUpdate(ctx, p, o)
	}
	gates.Drop(s.features, obj, old)
	gates.DropAbsent(s.features, obj, old)
	if s.kind.generation && !apiequality.Semantic.DeepEqual(s.kind.spec(p), s.kind.spec(o)) {
		p.SetGeneration(o.GetGeneration() + 1)
	}
}

// sameType prevents that a patch without changes is written. Objects of the hub version have their
// type or not, depending on their origin, and would differ only in that.
func sameType(obj, old runtime.Object) {
	obj.GetObjectKind().SetGroupVersionKind(old.GetObjectKind().GroupVersionKind())
}

func (s strategy[T, P]) Validate(ctx context.Context, obj runtime.Object) field.ErrorList {
	if errs := s.quantities.TooLarge(obj); len(errs) > 0 {
		return s.asRequested(ctx, errs)
	}
	return s.asRequested(ctx,
		slices.Concat(s.kind.validate(obj.(P)), s.validateIn(ctx, obj.(P), nil), gates.Refuse(s.features, obj, nil)))
}

func (s strategy[T, P]) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	if errs := s.quantities.TooLarge(obj); len(errs) > 0 {
		return s.asRequested(ctx, errs)
	}
	return s.asRequested(
		ctx,
		slices.Concat(s.kind.validateUpdate(obj.(P), old.(P)), s.validateIn(ctx, obj.(P), old.(P)),
			gates.Refuse(s.features, obj, old)),
	)
}

func (s strategy[T, P]) validateIn(ctx context.Context, obj, old P) field.ErrorList {
	if s.kind.validateIn == nil {
		return nil
	}
	return s.kind.validateIn(ctx, obj, old)
}

// asRequested converts the field names to the request's group and version.
func (s strategy[T, P]) asRequested(ctx context.Context, errs field.ErrorList) field.ErrorList {
	info, ok := genericapirequest.RequestInfoFrom(ctx)
	if s.kind.fieldIn == nil || !ok {
		return errs
	}
	for _, e := range errs {
		e.Field = s.kind.fieldIn(schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}, e.Field)
	}
	return errs
}

func (s strategy[T, P]) WarningsOnCreate(_ context.Context, obj runtime.Object) []string {
	if s.kind.warnings == nil {
		return nil
	}
	return s.kind.warnings(obj.(P), nil)
}

func (s strategy[T, P]) WarningsOnUpdate(_ context.Context, obj, old runtime.Object) []string {
	if s.kind.warnings == nil {
		return nil
	}
	return s.kind.warnings(obj.(P), old.(P))
}

func (s strategy[T, P]) Canonicalize(obj runtime.Object) {
	if s.kind.canonicalize != nil {
		s.kind.canonicalize(obj.(P))
	}
}

func (s strategy[T, P]) CheckGracefulDelete(
	ctx context.Context, obj runtime.Object, options *metav1.DeleteOptions,
) bool {
	if s.kind.gracefulDelete == nil || options == nil {
		return false
	}
	return s.kind.gracefulDelete(ctx, obj.(P), options)
}

// DefaultGarbageCollectionPolicy implements rest.GarbageCollectionDeleteStrategy.
func (s strategy[T, P]) DefaultGarbageCollectionPolicy(context.Context) rest.GarbageCollectionPolicy {
	if s.kind.orphans {
		return rest.OrphanDependents
	}
	return rest.DeleteDependents
}

// GetResetFields returns the fields that PrepareForUpdate restores, so that managers do not own
// them.
func (s strategy[T, P]) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	if s.kind.status == nil {
		return nil
	}
	return s.kind.names.fieldSets(append(slices.Clone(s.kind.fixed), fieldpath.MakePathOrDie("status"))...)
}

// statusStrategy is the update strategy of the status subresource.
type statusStrategy[T any, P pointer[T]] struct {
	strategy[T, P]
}

// PrepareForUpdate keeps everything except the status.
func (s statusStrategy[T, P]) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	p, o := obj.(P), old.(P)
	if len(s.quantities.TooLarge(obj)) > 0 {
		return // as in PrepareForCreate
	}
	sameType(p, o)
	if s.kind.spec != nil {
		copyPart(s.kind.spec, p, o)
	}
	if s.kind.statusOnly {
		metav1.ResetObjectMetaForStatus(p, o)
	}
	gates.Drop(s.features, obj, old)
	gates.DropAbsent(s.features, obj, old)
	if s.kind.prepareStatus != nil {
		s.kind.prepareStatus(p, o)
	}
}

func (s statusStrategy[T, P]) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	if errs := s.quantities.TooLarge(obj); len(errs) > 0 {
		return s.asRequested(ctx, errs)
	}
	errs := s.kind.validateStatus(obj.(P), old.(P))
	if s.kind.statusAccess != nil {
		errs = append(errs, s.kind.statusAccess(ctx, obj.(P), old.(P))...)
	}
	return s.asRequested(ctx, errs)
}

func (s statusStrategy[T, P]) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}

func (s statusStrategy[T, P]) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	paths := append(slices.Clone(s.kind.fixedByStatus), fieldpath.MakePathOrDie("spec"))
	if s.kind.statusOnly {
		paths = append(paths, fieldpath.MakePathOrDie("metadata"))
	}
	return s.kind.names.fieldSets(paths...)
}

// copyPart copies a part of old to obj.
func copyPart[P any](part func(P) any, obj, old P) {
	reflect.ValueOf(part(obj)).Elem().Set(reflect.ValueOf(part(old)).Elem())
}

// fieldSets returns the paths, for each served version, as fields that clients do not own.
func (n names) fieldSets(paths ...fieldpath.Path) map[fieldpath.APIVersion]*fieldpath.Set {
	out := map[fieldpath.APIVersion]*fieldpath.Set{}
	for _, v := range n.versions {
		gv := schema.GroupVersion{Group: n.group, Version: v}
		out[fieldpath.APIVersion(gv.String())] = fieldpath.NewSet(paths...)
	}
	return out
}
