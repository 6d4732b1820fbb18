package dynamicadmission

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
)

// noRules returns a chain without built-in rules.
type noRules struct{}

func (noRules) Handles(admission.Operation) bool { return true }

func (noRules) Admit(context.Context, admission.Attributes, admission.ObjectInterfaces) error {
	return nil
}

func (noRules) Validate(context.Context, admission.Attributes, admission.ObjectInterfaces) error {
	return nil
}

// BenchmarkUnconfigured measures the cost of the plugins for a write when none of them is
// configured.
func BenchmarkUnconfigured(b *testing.B) {
	chain := (&Plugins{}).Behind(noRules{}).(chain)
	attributes := admission.NewAttributesRecord(
		&corev1.Pod{},
		nil,
		schema.GroupVersionKind{Version: "v1", Kind: "Pod"},
		"ns",
		"p",
		schema.GroupVersionResource{Version: "v1", Resource: "pods"},
		"",
		admission.Create,
		nil,
		false,
		nil,
	)
	for b.Loop() {
		if err := chain.Admit(b.Context(), attributes, nil); err != nil {
			b.Fatal(err)
		}
		if err := chain.Validate(b.Context(), attributes, nil); err != nil {
			b.Fatal(err)
		}
	}
}
