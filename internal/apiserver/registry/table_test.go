package registry

import (
	"slices"
	"testing"
)

func TestTableIsComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range table(given{}) {
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

func TestShortNamesAreUnique(t *testing.T) {
	owner := map[string]string{}
	for _, e := range table(given{}) {
		n := e.identity()
		for _, s := range append(slices.Clone(n.short), n.plural, n.singular) {
			if other, ok := owner[s]; ok {
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
