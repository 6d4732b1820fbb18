package registry

import (
	"slices"
	"strings"
	"testing"

	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/allot-dev/allot/api"
)

func TestTableIsComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range table(dependencies{}) {
		if err := e.check(); err != nil {
			t.Error(err)
		}
		n := e.identity()
		for _, v := range n.versions {
			if id := n.group + "/" + v + "/" + n.plural; seen[id] {
				t.Errorf("%s is there twice", id)
			} else {
				seen[id] = true
			}
		}
	}
	for _, want := range []string{
		"/v1/pods", "apps/v1/deployments", "scheduling.k8s.io/v1beta1/podgroups", "scheduling.k8s.io/v1alpha2/podgroups",
		"resource.k8s.io/v1/resourceclaims", "resource.k8s.io/v1alpha3/clusterresourceclaimtemplates",
	} {
		if !seen[want] {
			t.Errorf("%s is missing", want)
		}
	}
}

// TestKindsOfTheSchemeAreServed checks that each kind with a list type in api.NewScheme has a
// descriptor, in each of its versions.
func TestKindsOfTheSchemeAreServed(t *testing.T) {
	scheme := api.NewScheme()
	served := map[schema.GroupVersionKind]bool{eventsv1.SchemeGroupVersion.WithKind("Event"): true} // by newerEvents
	for _, rules := range RulesByResource(scheme) {
		for _, version := range rules.Versions {
			served[rules.Kind.GroupKind().WithVersion(version)] = true
		}
	}
	for gvk := range scheme.AllKnownTypes() {
		kind, list := strings.CutSuffix(gvk.Kind, "List")
		gvk.Kind = kind
		if !list || gvk.Version == runtime.APIVersionInternal || served[gvk] || !scheme.Recognizes(gvk) {
			continue
		}
		obj, err := scheme.New(gvk)
		if err != nil {
			t.Fatal(err)
		}
		if discovery, _ := scheme.IsUnversioned(obj); !discovery {
			t.Errorf("%s is in the scheme and not in the table", gvk)
		}
	}
}

func TestShortNamesAreUnique(t *testing.T) {
	owner := map[string]string{}
	for _, e := range table(dependencies{}) {
		n := e.identity()
		for _, s := range append(slices.Clone(n.short), n.plural, n.singular) {
			if other, ok := owner[s]; ok && other != n.plural {
				t.Errorf("%s and %s are both called %s", other, n.plural, s)
			}
			owner[s] = n.plural
		}
	}
}

func TestEventsAreKeptForAnHour(t *testing.T) {
	store := events().(*eventEntry)
	if store.ttlSeconds != 3600 {
		t.Errorf("time to live is %d s", store.ttlSeconds)
	}
}
