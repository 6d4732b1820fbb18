package objects

// Getter is a cache in which objects are looked up by name.
type Getter[T any] interface {
	Get(namespace, name string) (T, bool)
}

// Index is a cache with an index. The indexes that it must have are named where it is used.
type Index[T any] interface {
	ByIndex(index, key string) []T
}

// Namespaced is a cache that lists the objects of a namespace.
type Namespaced[T any] interface {
	InNamespace(namespace string) []T
}

// Lister is a cache that lists all objects.
type Lister[T any] interface {
	List() []T
}
