package client

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/gentype"
)

// kind describes a kind to clients and caches. It is a value that is never changed.
type kind[T Object, L runtime.Object] struct {
	resource  schema.GroupVersionResource // in the hub version
	newObject func() T
	newList   func() L
	// status lists the fields of the status that allot writes on a newer server; none means all.
	status []string
	// cacheNamespace is the namespace of the cached objects; empty means all.
	cacheNamespace string
	// cacheName is the name of the cached objects; empty means any.
	cacheName string
}

// objectPointer is a pointer to T that is an API object.
type objectPointer[T any] interface {
	*T
	Object
}

// listPointer is a pointer to L that is a list of API objects.
type listPointer[L any] interface {
	*L
	runtime.Object
}

// kindOf describes the kind of T, of which L is the list type.
func kindOf[T, L any, P objectPointer[T], PL listPointer[L]](hub schema.GroupVersion, resource string) kind[P, PL] {
	return kind[P, PL]{
		resource:  hub.WithResource(resource),
		newObject: func() P { return new(T) },
		newList:   func() PL { return new(L) },
	}
}

// writing restricts status updates on a newer server to these fields.
func (k kind[T, L]) writing(fields ...string) kind[T, L] {
	k.status = fields
	return k
}

// cachedIn restricts the cache to a namespace.
func (k kind[T, L]) cachedIn(namespace string) kind[T, L] {
	k.cacheNamespace = namespace
	return k
}

// cachedNamed restricts the cache to objects of a name.
func (k kind[T, L]) cachedNamed(name string) kind[T, L] {
	k.cacheName = name
	return k
}

// client returns the client of the kind in a namespace.
func (k kind[T, L]) client(s *Set, namespace string) Client[T, L] {
	server := s.server(k.resource)
	typed := gentype.NewClientWithList(
		k.resource.Resource,
		server.Interface,
		server.parameters,
		namespace,
		k.newObject,
		k.newList,
		gentype.PrefersProtobuf[T](),
	)
	return Client[T, L]{
		ClientWithList: typed,
		newer:          s.dialect.Newer,
		status:         k.status,
		translated:     s.dialect != Dialect{},
	}
}

// cache returns the cache of the kind, which is the same for all parts of a process.
func (k kind[T, L]) cache(f *Informers) *Informer[T] {
	return informerFor(f, k.resource.Resource, func() *Informer[T] {
		return newInformer(byName[L]{k.client(f.set, k.cacheNamespace), k.cacheName}, k.newObject())
	})
}
