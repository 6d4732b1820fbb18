package dynamicadmission

import (
	"context"

	"k8s.io/apiserver/pkg/admission"
)

// chain is a chain that changes and validates objects.
type chain interface {
	admission.MutationInterface
	admission.ValidationInterface
}

// reinvocation runs the mutating part of a chain once more if a webhook or a policy has asked for
// that, because it had been called before another one changed the object.
type reinvocation struct{ chain }

// Admit implements admission.MutationInterface.
func (r reinvocation) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	if err := r.chain.Admit(ctx, a, o); err != nil {
		return err
	}
	again := a.GetReinvocationContext()
	if !again.ShouldReinvoke() {
		return nil
	}
	again.SetIsReinvoke()
	return r.chain.Admit(ctx, a, o)
}
