package quota

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	apiquota "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/apiserver/pkg/quota/v1/generic"
)

// evaluator measures objects of one kind. It implements quota.Evaluator of k8s.io/apiserver.
type evaluator[P runtime.Object] struct {
	resource schema.GroupResource
	list     generic.ListFuncByNamespace
	usage    func(P) corev1.ResourceList
	// counts reports whether a name in a quota is one that usage may return.
	counts func(corev1.ResourceName) bool
	// inScope is nil if the kind has no scopes.
	inScope func(corev1.ScopedResourceSelectorRequirement, P) (bool, error)
	// constraints return an error for an object that leaves out what a quota counts; nil if that may
	// be.
	constraints func(required []corev1.ResourceName, obj P) error
	// charged reports whether an update can change the usage.
	charged func(obj, old P) bool
}

var _ apiquota.Evaluator = &evaluator[runtime.Object]{}

// Constraints implements quota.Evaluator.
func (e *evaluator[P]) Constraints(required []corev1.ResourceName, item runtime.Object) error {
	obj, err := e.object(item)
	if err != nil || e.constraints == nil {
		return err
	}
	return e.constraints(required, obj)
}

func (e *evaluator[P]) object(item runtime.Object) (P, error) {
	obj, ok := item.(P)
	if !ok {
		return obj, fmt.Errorf("%s: unexpected type %T", e.resource, item)
	}
	return obj, nil
}

// GroupResource implements quota.Evaluator.
func (e *evaluator[P]) GroupResource() schema.GroupResource { return e.resource }

// Handles implements quota.Evaluator.
func (e *evaluator[P]) Handles(a admission.Attributes) bool {
	if a.GetSubresource() != "" {
		return false
	}
	switch a.GetOperation() {
	case admission.Create:
		return true
	case admission.Update:
		obj, ok := a.GetObject().(P)
		old, both := a.GetOldObject().(P)
		return ok && both && e.charged != nil && e.charged(obj, old)
	}
	return false
}

// Matches implements quota.Evaluator.
func (e *evaluator[P]) Matches(quota *corev1.ResourceQuota, item runtime.Object) (bool, error) {
	return generic.Matches(quota, item, e.MatchingResources, e.scope)
}

func (e *evaluator[P]) scope(scope corev1.ScopedResourceSelectorRequirement, item runtime.Object) (bool, error) {
	obj, err := e.object(item)
	if err != nil || e.inScope == nil {
		return false, err
	}
	return e.inScope(scope, obj)
}

// MatchingResources implements quota.Evaluator.
func (e *evaluator[P]) MatchingResources(names []corev1.ResourceName) []corev1.ResourceName {
	return slices.DeleteFunc(slices.Clone(names), func(name corev1.ResourceName) bool {
		return name != countName(e.resource) && !e.counts(name)
	})
}

// MatchingScopes implements quota.Evaluator.
func (e *evaluator[P]) MatchingScopes(
	item runtime.Object, scopes []corev1.ScopedResourceSelectorRequirement,
) ([]corev1.ScopedResourceSelectorRequirement, error) {
	var out []corev1.ScopedResourceSelectorRequirement
	for _, scope := range scopes {
		ok, err := e.scope(scope, item)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, scope)
		}
	}
	return out, nil
}

// UncoveredQuotaScopes implements quota.Evaluator.
func (e *evaluator[P]) UncoveredQuotaScopes(
	limited, matched []corev1.ScopedResourceSelectorRequirement,
) ([]corev1.ScopedResourceSelectorRequirement, error) {
	return slices.DeleteFunc(slices.Clone(limited), func(l corev1.ScopedResourceSelectorRequirement) bool {
		return e.inScope == nil ||
			slices.ContainsFunc(matched,
				func(m corev1.ScopedResourceSelectorRequirement) bool { return m.ScopeName == l.ScopeName })
	}), nil
}

// Usage implements quota.Evaluator.
func (e *evaluator[P]) Usage(item runtime.Object) (corev1.ResourceList, error) {
	obj, err := e.object(item)
	if err != nil {
		return nil, err
	}
	return e.usage(obj), nil
}

// UsageStats implements quota.Evaluator.
func (e *evaluator[P]) UsageStats(options apiquota.UsageStatsOptions) (apiquota.UsageStats, error) {
	return generic.CalculateUsageStats(options, e.list, e.scope, e.Usage)
}
