package quota

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	core "github.com/allot-dev/allot/api/core/v1"
)

// podInScope reports whether a pod is one of those that a scope selects.
func podInScope(scope corev1.ScopedResourceSelectorRequirement, pod *core.Pod) (bool, error) {
	switch scope.ScopeName {
	case corev1.ResourceQuotaScopeTerminating:
		return pod.Spec.ActiveDeadlineSeconds != nil, nil
	case corev1.ResourceQuotaScopeNotTerminating:
		return pod.Spec.ActiveDeadlineSeconds == nil, nil
	case corev1.ResourceQuotaScopeBestEffort:
		return isBestEffort(pod), nil
	case corev1.ResourceQuotaScopeNotBestEffort:
		return !isBestEffort(pod), nil
	case corev1.ResourceQuotaScopeCrossNamespacePodAffinity:
		return crossesNamespaces(pod.Spec.Affinity), nil
	case corev1.ResourceQuotaScopePriorityClass:
		if scope.Operator == corev1.ScopeSelectorOpExists {
			return pod.Spec.PriorityClassName != "", nil
		}
		return selects(scope, pod.Spec.PriorityClassName)
	}
	return false, nil
}

// volumeClaimInScope reports whether a PersistentVolumeClaim is one of those that a scope selects,
// by the class of the volume's attributes that it has, is to get, or had.
func volumeClaimInScope(scope corev1.ScopedResourceSelectorRequirement, c *corev1.PersistentVolumeClaim) (bool, error) {
	if scope.ScopeName != corev1.ResourceQuotaScopeVolumeAttributesClass {
		return false, nil
	}
	var classes []string
	for _, name := range []*string{c.Spec.VolumeAttributesClassName, c.Status.CurrentVolumeAttributesClassName} {
		if name != nil && *name != "" {
			classes = append(classes, *name)
		}
	}
	if s := c.Status.ModifyVolumeStatus; s != nil && s.TargetVolumeAttributesClassName != "" {
		classes = append(classes, s.TargetVolumeAttributesClassName)
	}
	if scope.Operator == corev1.ScopeSelectorOpExists {
		return len(classes) > 0, nil
	}
	if len(classes) == 0 {
		return selects(scope, "")
	}
	for _, name := range classes {
		if ok, err := selects(scope, name); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// selects reports whether a scope selects a class; the empty name stands for no class.
func selects(scope corev1.ScopedResourceSelectorRequirement, class string) (bool, error) {
	operators := map[corev1.ScopeSelectorOperator]selection.Operator{
		corev1.ScopeSelectorOpIn: selection.In, corev1.ScopeSelectorOpNotIn: selection.NotIn,
		corev1.ScopeSelectorOpExists: selection.Exists, corev1.ScopeSelectorOpDoesNotExist: selection.DoesNotExist,
	}
	requirement, err := labels.NewRequirement(string(scope.ScopeName), operators[scope.Operator], scope.Values)
	if err != nil {
		return false, fmt.Errorf("scope %s: %w", scope.ScopeName, err)
	}
	set := labels.Set{}
	if class != "" {
		set[string(scope.ScopeName)] = class
	}
	return requirement.Matches(set), nil
}

// isBestEffort reports whether a pod requests no CPU and no memory, and has no limits of them.
func isBestEffort(pod *core.Pod) bool {
	has := func(r *corev1.ResourceRequirements) bool {
		return r != nil &&
			slices.ContainsFunc([]corev1.ResourceList{r.Requests, r.Limits}, func(list corev1.ResourceList) bool {
				return list.Cpu().Sign() > 0 || list.Memory().Sign() > 0
			})
	}
	return !has(pod.Spec.Resources) &&
		!slices.ContainsFunc(slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers), func(c corev1.Container) bool {
			return has(&c.Resources)
		})
}

// crossesNamespaces reports whether affinity is for pods of other namespaces.
func crossesNamespaces(affinity *corev1.Affinity) bool {
	if affinity == nil {
		return false
	}
	var terms []corev1.PodAffinityTerm
	add := func(required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) {
		terms = append(terms, required...)
		for _, p := range preferred {
			terms = append(terms, p.PodAffinityTerm)
		}
	}
	if a := affinity.PodAffinity; a != nil {
		add(a.RequiredDuringSchedulingIgnoredDuringExecution, a.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if a := affinity.PodAntiAffinity; a != nil {
		add(a.RequiredDuringSchedulingIgnoredDuringExecution, a.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	return slices.ContainsFunc(terms,
		func(t corev1.PodAffinityTerm) bool { return len(t.Namespaces) > 0 || t.NamespaceSelector != nil })
}
