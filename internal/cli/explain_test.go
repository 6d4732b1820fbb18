package cli

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestCauses checks how the causes of an API error are printed.
func TestCauses(t *testing.T) {
	unknown := func(message string) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Code: 500, Message: message}}
	}
	for _, tc := range []struct {
		name string
		err  error
		want []string
	}{
		{"no answer of the server", errors.New("refused"), nil},
		{"an answer without fields", unknown("the server is busy"), nil},
		{"one unknown field", unknown("failed to create typed patch object (default/d; apps/v1, Kind=Deployment): .spec.foo: field not declared in schema"),
			[]string{"spec.foo: field not declared in schema"}},
		{"two unknown fields", unknown("failed to create typed patch object (default/d; apps/v1, Kind=Deployment): errors:\n  .spec.foo: field not declared in schema\n  .spec.bar: field not declared in schema"),
			[]string{"spec.foo: field not declared in schema", "spec.bar: field not declared in schema"}},
		{"a missing namespace", apierrors.NewNotFound(metav1.SchemeGroupVersion.WithResource("namespaces").GroupResource(),
			"x"), nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, causes(tc.err)); diff != "" {
				t.Errorf("unexpected causes (-want +got):\n%s", diff)
			}
		})
	}
}
