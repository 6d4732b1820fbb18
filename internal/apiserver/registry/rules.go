package registry

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/rest"
	storagenames "k8s.io/apiserver/pkg/storage/names"

	"github.com/allot-dev/allot/internal/features"
)

// Rules are the strategies by which objects of one resource are written. Status is nil if the
// resource has no status subresource.
type Rules struct {
	// Versions are the served versions, the stored one first.
	Versions []string
	Create   rest.RESTCreateStrategy
	Update   rest.RESTUpdateStrategy
	Status   rest.RESTUpdateStrategy
}

// RulesByResource returns the rules of every stored resource. They need neither storage nor a
// server, so that they can be compared with those of Kubernetes in one process. Access to the parts
// of a claim's status is not in them, because it depends on the requester.
func RulesByResource(scheme *runtime.Scheme) map[schema.GroupResource]Rules {
	out := map[schema.GroupResource]Rules{}
	for _, e := range table(given{lookup: &Lookup{}}) {
		out[e.identity().resource()] = e.rules(scheme, features.Set{})
	}
	return out
}

func (k *kind[T, P]) rules(scheme *runtime.Scheme, on features.Set) Rules {
	s := k.strategy(scheme, on)
	out := Rules{Versions: k.names.versions, Create: s, Update: s}
	if k.status != nil {
		out.Status = statusStrategy[T, P]{s}
	}
	return out
}

func (k *kind[T, P]) strategy(scheme *runtime.Scheme, on features.Set) strategy[T, P] {
	return strategy[T, P]{ObjectTyper: scheme, NameGenerator: storagenames.SimpleNameGenerator, kind: k, features: on}
}
