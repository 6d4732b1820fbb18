package registry

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	apistorage "k8s.io/apiserver/pkg/storage"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/allot-dev/allot/internal/apiserver/inmemory"
	"github.com/allot-dev/allot/internal/features"
)

// env has what is required to build a storage.
type env struct {
	scheme *runtime.Scheme
	getter generic.RESTOptionsGetter
	// features are the enabled features.
	features features.Set
}

// storage serves a kind itself, with the names for kubectl.
type storage struct {
	*genericregistry.Store
	names names
}

// ShortNames implements rest.ShortNamesProvider.
func (s *storage) ShortNames() []string { return s.names.short }

// Categories implements rest.CategoriesProvider.
func (s *storage) Categories() []string { return s.names.categories }

// Watch implements rest.Watcher. A client in the process gets the objects themselves if it watches
// the stored version. The store copies each object for each watch.
func (s *storage) Watch(ctx context.Context, options *metainternalversion.ListOptions) (watch.Interface, error) {
	w, err := s.Store.Watch(ctx, options)
	if err != nil {
		return nil, err
	}
	info, ok := genericapirequest.RequestInfoFrom(ctx)
	if !ok || info.APIGroup != s.names.group || info.APIVersion != s.names.versions[0] {
		return w, nil
	}
	return inmemory.HandOver(ctx, w), nil
}

// build returns the storages of the kind and its subresources, by path, and their store.
func (k *kind[T, P]) build(e env) (map[string]rest.Storage, *genericregistry.Store, error) {
	store, err := k.store(e)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", k.names.resource(), err)
	}
	main := &storage{Store: store, names: k.names}
	out := map[string]rest.Storage{k.names.plural: main}
	if k.wrap != nil {
		out[k.names.plural] = k.wrap(main)
	}
	if k.status != nil {
		status := statusStrategy[T, P]{store.UpdateStrategy.(strategy[T, P])}
		out[k.names.plural+"/status"] = newPart(store, status)
	}
	if k.wrapStatus != nil {
		out[k.names.plural+"/status"] = k.wrapStatus(store)
	}
	return out, store, k.addSubresources(store, out)
}

func (k *kind[T, P]) store(e env) (*genericregistry.Store, error) {
	s := k.strategy(e.scheme, e.features)
	store := &genericregistry.Store{
		NewFunc:                   k.new,
		NewListFunc:               k.newList,
		DefaultQualifiedResource:  k.names.resource(),
		SingularQualifiedResource: schema.GroupResource{Group: k.names.group, Resource: k.names.singular},
		CreateStrategy:            s,
		UpdateStrategy:            s,
		DeleteStrategy:            s,
		ResetFieldsStrategy:       s,
		ReturnDeletedObject:       true,
		TableConvertor:            k.printer().Convertor(k.names.resource(), time.Now),
		BeginUpdate:               k.beginUpdate,
	}
	if k.ttlSeconds > 0 {
		store.TTLFunc = func(runtime.Object, uint64, bool) (uint64, error) { return k.ttlSeconds, nil }
	}
	if k.keepDuringUpdate != nil {
		store.ShouldDeleteDuringUpdate = func(ctx context.Context, key string, obj, existing runtime.Object) bool {
			return !k.keepDuringUpdate(obj.(P)) && genericregistry.ShouldDeleteDuringUpdate(ctx, key, obj, existing)
		}
	}
	options := &generic.StoreOptions{RESTOptions: e.getter, AttrFunc: k.attributes}
	if k.index != "" {
		value := func(obj runtime.Object) string { return k.fields(obj.(P))[k.index] }
		options.TriggerFunc = apistorage.IndexerFuncs{k.index: value}
		options.Indexers = &cache.Indexers{
			apistorage.FieldIndex(k.index): func(obj any) ([]string, error) {
				return []string{value(obj.(runtime.Object))},
					nil
			},
		}
	}
	if err := k.registerFields(e.scheme); err != nil {
		return nil, err
	}
	return store, store.CompleteWithOptions(options)
}

// addSubresources adds the storages of more, which must be those that the descriptor has a class
// of.
func (k *kind[T, P]) addSubresources(store *genericregistry.Store, storages map[string]rest.Storage) error {
	if k.storages == nil {
		return nil
	}
	subresources := k.storages(store)
	if have, want := slices.Sorted(maps.Keys(subresources)), slices.Sorted(maps.Keys(k.subresources)); !slices.Equal(
		have, want,
	) {
		return fmt.Errorf("%s: has the subresources %q, and classes of %q", k.names.resource(), have, want)
	}
	for path, sub := range subresources {
		storages[k.names.plural+"/"+path] = sub
	}
	return nil
}

// attributes returns the labels and fields for selectors.
func (k *kind[T, P]) attributes(obj runtime.Object) (labels.Set, fields.Set, error) {
	p, ok := obj.(P)
	if !ok {
		return nil, nil, fmt.Errorf("%s: unexpected type %T", k.names.resource(), obj)
	}
	set := fields.Set{}
	if k.fields != nil {
		set = k.fields(p)
	}
	set["metadata.name"] = p.GetName()
	if !k.names.cluster {
		set["metadata.namespace"] = p.GetNamespace()
	}
	return p.GetLabels(), set, nil
}

// registerFields registers the selectable fields in every served version.
func (k *kind[T, P]) registerFields(scheme *runtime.Scheme) error {
	if k.fields == nil {
		return nil
	}
	known := k.fields(P(new(T)))
	kinds, _, err := scheme.ObjectKinds(k.new())
	if err != nil {
		return err
	}
	for _, version := range k.names.versions {
		gvk := schema.GroupVersionKind{Group: k.names.group, Version: version, Kind: kinds[0].Kind}
		err := scheme.AddFieldLabelConversionFunc(gvk, func(label, value string) (string, string, error) {
			if _, ok := known[label]; ok {
				return label, value, nil
			}
			return runtime.DefaultMetaV1FieldSelectorConversion(label, value)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// part serves GET, PUT and PATCH of a subresource that is a part of the object.
type part struct {
	store *genericregistry.Store
}

// updateStrategy is the strategy of a part.
type updateStrategy interface {
	rest.RESTUpdateStrategy
	rest.ResetFieldsStrategy
}

func newPart(store *genericregistry.Store, s updateStrategy) *part {
	sub := *store
	sub.UpdateStrategy = s
	sub.ResetFieldsStrategy = s
	return &part{store: &sub}
}

// New implements rest.Storage.
func (p *part) New() runtime.Object { return p.store.New() }

// Destroy implements rest.Storage; the store belongs to the kind's own storage.
func (p *part) Destroy() {}

// Get implements rest.Getter, which patches need.
func (p *part) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	return p.store.Get(ctx, name, options)
}

// Update implements rest.Updater. It never creates.
func (p *part) Update(
	ctx context.Context, name string, info rest.UpdatedObjectInfo,
	create rest.ValidateObjectFunc, update rest.ValidateObjectUpdateFunc, _ bool, options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	return p.store.Update(ctx, name, checkedUpdate{info}, create, update, false, options)
}

// GetResetFields implements rest.ResetFieldsStrategy.
func (p *part) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return p.store.GetResetFields()
}

// ConvertToTable implements rest.TableConvertor.
func (p *part) ConvertToTable(ctx context.Context, obj, options runtime.Object) (*metav1.Table, error) {
	return p.store.ConvertToTable(ctx, obj, options)
}
