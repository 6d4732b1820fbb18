package registry

import (
	"context"
	"fmt"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/allot-dev/allot/internal/apiserver/validation"
)

// scaled has the fields of an object that a Scale shows.
type scaled struct {
	replicas **int32
	selector *metav1.LabelSelector
	current  int32
}

// scale serves the scale subresource of a kind with spec.replicas.
type scale struct {
	store *genericregistry.Store
	view  func(obj runtime.Object) scaled
	paths managedfields.ResourcePathMappings
	gv    schema.GroupVersion
}

var (
	_ rest.Patcher                  = &scale{}
	_ rest.GroupVersionKindProvider = &scale{}
)

func newScale[P runtime.Object](store *genericregistry.Store, view func(P) scaled) *scale {
	gv := schema.GroupVersion{Group: store.DefaultQualifiedResource.Group, Version: "v1"}
	return &scale{
		store: store,
		view:  func(obj runtime.Object) scaled { return view(obj.(P)) },
		paths: managedfields.ResourcePathMappings{gv.String(): fieldpath.MakePathOrDie("spec", "replicas")},
		gv:    gv,
	}
}

// GroupVersionKind implements rest.GroupVersionKindProvider.
func (s *scale) GroupVersionKind(schema.GroupVersion) schema.GroupVersionKind {
	return autoscalingv1.SchemeGroupVersion.WithKind("Scale")
}

// New implements rest.Storage.
func (s *scale) New() runtime.Object { return &autoscalingv1.Scale{} }

// Destroy implements rest.Storage; the store belongs to the kind's own storage.
func (s *scale) Destroy() {}

// Get implements rest.Getter.
func (s *scale) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	obj, err := s.store.Get(ctx, name, options)
	if err != nil {
		return nil, err
	}
	return s.show(obj)
}

// Update implements rest.Updater.
func (s *scale) Update(
	ctx context.Context, name string, info rest.UpdatedObjectInfo,
	create rest.ValidateObjectFunc, update rest.ValidateObjectUpdateFunc, _ bool, options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	obj, _, err := s.store.Update(
		ctx,
		name,
		scaleUpdate{checkedUpdate{info}, s, name},
		create,
		func(ctx context.Context, obj, old runtime.Object) error {
			newScale, err := s.show(obj)
			if err != nil {
				return err
			}
			oldScale, err := s.show(old)
			if err != nil {
				return err
			}
			return update(ctx, newScale, oldScale)
		},
		false,
		options,
	)
	if err != nil {
		return nil, false, err
	}
	out, err := s.show(obj)
	return out, false, err
}

// ConvertToTable implements rest.TableConvertor.
func (s *scale) ConvertToTable(ctx context.Context, obj, options runtime.Object) (*metav1.Table, error) {
	return rest.NewDefaultTableConvertor(s.store.DefaultQualifiedResource).ConvertToTable(ctx, obj, options)
}

// show returns the Scale of obj.
func (s *scale) show(obj runtime.Object) (*autoscalingv1.Scale, error) {
	m, ok := obj.(metav1.Object)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("unexpected type %T", obj))
	}
	v := s.view(obj)
	selector, err := metav1.LabelSelectorAsSelector(v.selector)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	out := &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{
			Name:              m.GetName(),
			Namespace:         m.GetNamespace(),
			UID:               m.GetUID(),
			ResourceVersion:   m.GetResourceVersion(),
			CreationTimestamp: m.GetCreationTimestamp(),
		},
		Status: autoscalingv1.ScaleStatus{Replicas: v.current, Selector: selector.String()},
	}
	if *v.replicas != nil {
		out.Spec.Replicas = **v.replicas
	}
	return out, nil
}

// scaleUpdate converts an update of the Scale into an update of the object.
type scaleUpdate struct {
	rest.UpdatedObjectInfo
	scale *scale
	name  string
}

// UpdatedObject implements rest.UpdatedObjectInfo.
func (u scaleUpdate) UpdatedObject(ctx context.Context, old runtime.Object) (runtime.Object, error) {
	obj := old.DeepCopyObject()
	m := obj.(metav1.Object)
	if m.GetResourceVersion() == "" {
		return nil, apierrors.NewNotFound(u.scale.store.DefaultQualifiedResource, u.name)
	}
	owners := managedfields.NewScaleHandler(m.GetManagedFields(), u.scale.gv, u.scale.paths)
	before, err := u.scale.show(obj)
	if err != nil {
		return nil, err
	}
	if before.ManagedFields, err = owners.ToSubresource(); err != nil {
		return nil, err
	}
	updated, err := u.UpdatedObjectInfo.UpdatedObject(ctx, before)
	if err != nil {
		return nil, err
	}
	after, ok := updated.(*autoscalingv1.Scale)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("unexpected type %T", updated))
	}
	if err := u.check(m, after); err != nil {
		return nil, err
	}
	replicas := after.Spec.Replicas
	*u.scale.view(obj).replicas = &replicas
	m.SetResourceVersion(after.ResourceVersion)
	entries, err := owners.ToParent(after.ManagedFields)
	if err != nil {
		return nil, err
	}
	m.SetManagedFields(entries)
	return obj, nil
}

func (u scaleUpdate) check(m metav1.Object, after *autoscalingv1.Scale) error {
	if errs := validation.ValidateScale(after); len(errs) > 0 {
		return apierrors.NewInvalid(schema.GroupKind{Group: autoscalingv1.GroupName, Kind: "Scale"}, u.name, errs)
	}
	if after.UID != "" && after.UID != m.GetUID() {
		return apierrors.NewConflict(u.scale.store.DefaultQualifiedResource, u.name,
			fmt.Errorf("the UID in the request (%s) is not the object's (%s)", after.UID, m.GetUID()))
	}
	return nil
}
