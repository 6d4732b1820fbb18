package registry

import (
	"context"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/allot-dev/allot/internal/apiserver/printers"
	"github.com/allot-dev/allot/internal/apiserver/rbac"
	"github.com/allot-dev/allot/internal/features"
)

// pointer is a pointer to T that can be stored.
type pointer[T any] interface {
	*T
	runtime.Object
	metav1.Object
}

// kind is the descriptor of one kind: everything that the server does with the kind follows from
// it. The fields that check requires must be decided, if only as noDefaults, printers.NameAndAge or
// rbac.Cluster. The zero value of every other field means the usual behaviour.
type kind[T any, P pointer[T]] struct {
	names   names
	newList func() runtime.Object

	// defaults sets the fields that a client has left out; noDefaults where Kubernetes leaves them
	// empty.
	defaults func(P)
	// olderDefaults are the defaults of served versions whose Go types are not T.
	olderDefaults []defaultFunc
	// printer lays out the tables of kubectl get.
	printer func() printers.Printer
	// class is the set of permissions for the kind in the roles view, edit and admin.
	class rbac.Class
	// subresources are the names in the result of storages, each with its verbs in the roles.
	subresources map[string]rbac.Class
	// gates are features without which the kind is not served.
	gates []features.Gate

	// spec and status return a pointer into an object; nil if the kind has no such part. A kind
	// with a status has a status subresource.
	spec, status func(P) any
	// generation is maintained: initially 1, and incremented with each change of the spec.
	generation bool
	// keepsGeneration means that Kubernetes stores the generation of a new object as set by the
	// client. A negative one is therefore rejected, not replaced.
	keepsGeneration bool
	// statusAtCreate keeps the status of a new object as set by the client.
	statusAtCreate bool
	// fixed and fixedByStatus are the fields that an update, and an update of the status, never change,
	// in addition to the status and to the spec.
	fixed, fixedByStatus []fieldpath.Path
	// statusOnly means that the status subresource does not change the metadata.
	statusOnly bool
	// createOnUpdate allows a PUT to create; needsVersion rejects a PUT without resourceVersion.
	createOnUpdate, needsVersion bool
	// unconditionalIn are versions that accept such a PUT although others reject it.
	unconditionalIn []string
	// orphans means that dependents of a deleted object stay by default.
	orphans bool
	// ttlSeconds is the time for which an object is kept; zero means forever.
	ttlSeconds uint64

	prepareCreate func(ctx context.Context, obj P)
	prepareUpdate func(ctx context.Context, obj, old P)
	prepareStatus func(obj, old P)
	canonicalize  func(obj P)

	validate       func(obj P) field.ErrorList
	validateUpdate func(obj, old P) field.ErrorList
	validateStatus func(obj, old P) field.ErrorList
	// statusAccess returns errors for changes of the status that the caller may not make.
	statusAccess func(ctx context.Context, obj, old P) field.ErrorList
	// validateIn has validation that applies only to some API groups or versions; old is nil for a
	// new object.
	validateIn func(ctx context.Context, obj, old P) field.ErrorList
	// fieldIn converts a field name of the stored version to the request's group and version.
	fieldIn func(gv schema.GroupVersion, field string) string
	// warnings returns warnings for the client; old is nil for a new object.
	warnings func(obj, old P) []string

	// gracefulDelete sets the grace period, and reports whether the object stays for it.
	gracefulDelete func(ctx context.Context, obj P, options *metav1.DeleteOptions) bool
	// keepDuringUpdate delays the removal of a deleted object without finalizers.
	keepDuringUpdate func(obj P) bool

	// fields returns the selectable fields in addition to metadata.name and metadata.namespace.
	fields func(obj P) fields.Set
	// index is the selectable field by which lists and watches are indexed.
	index string

	// beginUpdate is called before an update of the kind itself or of its status; it may be nil.
	beginUpdate genericregistry.BeginUpdateFunc
	// wrap and wrapStatus replace the storages of the kind itself and of its status; storages adds
	// subresources.
	wrap       func(*storage) rest.Storage
	wrapStatus func(*genericregistry.Store) rest.Storage
	storages   func(*genericregistry.Store) map[string]rest.Storage
}

// names has the names of a kind, and where it is served.
type names struct {
	group string
	// versions are all versions that serve the kind, the stored one first.
	versions         []string
	plural, singular string
	short            []string
	categories       []string
	cluster          bool
	// key is the name of the resource in the keys of its objects, if that is not the plural.
	key string
}

func (n names) resource() schema.GroupResource {
	return schema.GroupResource{Group: n.group, Resource: n.plural}
}

func (k *kind[T, P]) new() runtime.Object { return P(new(T)) }

func (k *kind[T, P]) identity() names { return k.names }

// check returns an error for a descriptor that leaves something undecided.
func (k *kind[T, P]) check() error {
	if k.names.plural == "" || k.names.singular == "" || len(k.names.versions) == 0 || k.newList == nil {
		return fmt.Errorf("kind %T is not named in full", k.new())
	}
	for _, rule := range []struct {
		broken bool
		fault  string
	}{
		{k.defaults == nil, "defaults are not decided; noDefaults if there are none"},
		{k.printer == nil, "the printer is not decided; printers.NameAndAge if it shows nothing else"},
		{k.class == "", "what the roles view, edit and admin allow is not decided; rbac.Cluster if it is nothing"},
		{k.storages != nil && k.subresources == nil, "what the roles allow on the subresources is not decided"},
		{k.validate == nil || k.validateUpdate == nil, "validation of new objects or of updates is not decided"},
		{k.status != nil && k.validateStatus == nil, "validation of the status is not decided"},
		{k.generation && k.spec == nil, "there is a generation, but no spec"},
		{k.index != "" && k.fields == nil, "there is an index by a field that is no field selector"},
	} {
		if rule.broken {
			return fmt.Errorf("%s: %s", k.names.resource(), rule.fault)
		}
	}
	return nil
}

// served reports whether the kind is served with these features.
func (k *kind[T, P]) served(on features.Set) bool {
	return !slices.ContainsFunc(k.gates, func(g features.Gate) bool { return !on.On(g) })
}

// resources returns the kind's resource and subresources with their classes.
func (k *kind[T, P]) resources() []rbac.Resource {
	out := []rbac.Resource{{Group: k.names.group, Name: k.names.plural, Class: k.class}}
	add := func(name string, class rbac.Class) {
		out = append(out, rbac.Resource{Group: k.names.group, Name: k.names.plural + "/" + name, Class: class})
	}
	if k.status != nil {
		add("status", statusClass(k.class))
	}
	for _, name := range slices.Sorted(maps.Keys(k.subresources)) {
		add(name, k.subresources[name])
	}
	return out
}

// statusClass returns the class of the status of a kind: a role that reads the object reads its
// status, and the system writes it.
func statusClass(of rbac.Class) rbac.Class {
	if of == rbac.ReadWrite || of == rbac.ReadOnly {
		return rbac.ReadOnly
	}
	return rbac.Cluster
}
