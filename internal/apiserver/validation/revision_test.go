package validation

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// A patch of a revision's owners encodes its data with sorted fields, which is not a change.
func TestRevisionDataIsComparedAsValues(t *testing.T) {
	revision := func(data string) *appsv1.ControllerRevision {
		return &appsv1.ControllerRevision{
			ObjectMeta: metav1.ObjectMeta{Name: "r", Namespace: "default", ResourceVersion: "1"},
			Data:       runtime.RawExtension{Raw: []byte(data)},
		}
	}
	for _, tc := range []struct {
		now, before string
		same        bool
	}{
		{`{"a":1,"b":2}`, `{"b": 2, "a": 1}`, true},
		{`{"a":9007199254740993}`, `{"a":9007199254740992}`, false},
		{`{"a":1}`, `{"a":2}`, false},
		{`{"a":1}`, `{`, false},
	} {
		errs := ValidateControllerRevisionUpdate(revision(tc.now), revision(tc.before))
		if (len(errs) == 0) != tc.same {
			t.Errorf("from %s to %s: %v, want same: %v", tc.before, tc.now, errs, tc.same)
		}
	}
}
