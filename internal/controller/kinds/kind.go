package kinds

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind is a kind of objects in the preferred version of the server.
type Kind struct {
	Resource   schema.GroupVersionResource
	Kind       schema.GroupVersionKind
	Namespaced bool
	Verbs      []string // sorted
}

// Has reports whether the kind supports all the verbs.
func (k Kind) Has(verbs ...string) bool {
	for _, verb := range verbs {
		if _, ok := slices.BinarySearch(k.Verbs, verb); !ok {
			return false
		}
	}
	return true
}

// Discovery is the part of a discovery client that is needed.
type Discovery interface {
	// ServerPreferredResources may return some lists together with an error.
	ServerPreferredResources() ([]*metav1.APIResourceList, error)
}

// List returns the kinds that can be deleted, ordered by group and resource; no
// subresources. If only part of the server's groups could be read, it returns these
// kinds and an error.
func List(d Discovery) ([]Kind, error) {
	lists, err := d.ServerPreferredResources()
	errs := []error{err}
	var found []Kind
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, r := range list.APIResources {
			if k := kindOf(gv, r); k.Has("delete") && !strings.Contains(r.Name, "/") {
				found = append(found, k)
			}
		}
	}
	slices.SortFunc(found, func(a, b Kind) int {
		return cmp.Or(cmp.Compare(a.Resource.Group, b.Resource.Group), cmp.Compare(a.Resource.Resource, b.Resource.Resource))
	})
	if err := errors.Join(errs...); err != nil {
		return found, fmt.Errorf("discover kinds: %w", err)
	}
	return found, nil
}

func kindOf(gv schema.GroupVersion, r metav1.APIResource) Kind {
	// Lists set group and version only where they differ from their own.
	if r.Group != "" {
		gv.Group = r.Group
	}
	if r.Version != "" {
		gv.Version = r.Version
	}
	return Kind{
		Resource:   gv.WithResource(r.Name),
		Kind:       gv.WithKind(r.Kind),
		Namespaced: r.Namespaced,
		Verbs:      slices.Sorted(slices.Values(r.Verbs)),
	}
}
