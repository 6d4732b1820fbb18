package disruption

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	testclock "k8s.io/utils/clock/testing"
)

// kindsLater is a mapper that knows a kind that is added later only after a reset.
type kindsLater struct {
	*meta.DefaultRESTMapper
	comes  schema.GroupVersionKind
	resets int
}

func (k *kindsLater) Reset() {
	k.resets++
	if !k.comes.Empty() {
		k.Add(k.comes, meta.RESTScopeNamespace)
	}
}

func TestKindAddedLaterIsFound(t *testing.T) {
	gvk := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Crew"}
	mapper := &kindsLater{DefaultRESTMapper: meta.NewDefaultRESTMapper(nil)}
	now := testclock.NewFakePassiveClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	s := &scaleClient{mapper: mapper, clock: now}
	owner := &metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Crew", Name: "c"}
	for range 3 {
		if _, _, ok, err := s.ScaleOf(t.Context(), "default", owner); ok || err != nil {
			t.Fatalf("ok %v, error %v, want no scale of a kind that there is not", ok, err)
		}
	}
	if mapper.resets != 1 {
		t.Errorf("the kinds were asked for %d times at once, want 1", mapper.resets)
	}
	mapper.comes = gvk
	now.SetTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(noScaleWindow))
	if mapping, err := s.mapping(gvk); err != nil || mapping.Resource.Resource != "crews" {
		t.Errorf("mapping %v, error %v", mapping, err)
	}
}
