package registry

import (
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/rest"
	storagenames "k8s.io/apiserver/pkg/storage/names"

	"github.com/allot-dev/allot/internal/apiserver/printers"
	"github.com/allot-dev/allot/internal/apiserver/quantity"
	"github.com/allot-dev/allot/internal/features"
)

// Rules are the strategies by which objects of one resource are written, and how they are printed.
// Status is nil if the resource has no status subresource.
type Rules struct {
	// Kind is the kind in its stored version, in which the strategies see objects.
	Kind schema.GroupVersionKind
	// Versions are the served versions, the stored one first.
	Versions []string
	// Gates are features without which the kind is not served.
	Gates   []features.Gate
	Create  rest.RESTCreateStrategy
	Update  rest.RESTUpdateStrategy
	Status  rest.RESTUpdateStrategy
	Printer printers.Printer
}

// RulesByResource returns the rules of every stored resource. They need neither storage nor a
// server, so that they can be compared with those of Kubernetes in one process. Access to the parts
// of a claim's status is not in them, because it depends on the requester.
func RulesByResource(scheme *runtime.Scheme) map[schema.GroupResource]Rules {
	out := map[schema.GroupResource]Rules{}
	for _, e := range table(dependencies{lookup: &Lookup{}, now: time.Now}) {
		out[e.identity().resource()] = e.rules(scheme, features.All())
	}
	return out
}

func (k *kind[T, P]) rules(scheme *runtime.Scheme, on features.Set) Rules {
	s := k.strategy(scheme, on)
	out := Rules{
		Kind:     k.stored(scheme),
		Versions: k.names.versions,
		Gates:    k.gates,
		Create:   s,
		Update:   s,
		Printer:  k.printer(),
	}
	if k.status != nil {
		out.Status = statusStrategy[T, P]{s}
	}
	return out
}

// stored returns the kind in its stored version.
func (k *kind[T, P]) stored(scheme *runtime.Scheme) schema.GroupVersionKind {
	kinds, _, err := scheme.ObjectKinds(k.new())
	if err != nil {
		panic(err) // a scheme without a kind of the table
	}
	return schema.GroupVersionKind{Group: k.names.group, Version: k.names.versions[0], Kind: kinds[0].Kind}
}

func (k *kind[T, P]) strategy(scheme *runtime.Scheme, on features.Set) strategy[T, P] {
	return strategy[T, P]{
		ObjectTyper:   scheme,
		NameGenerator: storagenames.SimpleNameGenerator,
		kind:          k,
		features:      on,
		quantities:    quantity.NewFinder(reflect.TypeFor[T]()),
	}
}
