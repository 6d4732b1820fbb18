package validation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	placementv1alpha1 "github.com/allot-dev/allot/api/placement/v1alpha1"
)

// ValidatePlacement checks a request to bind the pods of a plan. Whether they can be bound is
// checked where that is known.
func ValidatePlacement(p *placementv1alpha1.Placement) field.ErrorList {
	path := field.NewPath("spec", "pods")
	switch n := len(p.Spec.Pods); {
	case n == 0:
		return field.ErrorList{field.Required(path, "")}
	case n > placementv1alpha1.MaxPods:
		return field.ErrorList{field.TooMany(path, n, placementv1alpha1.MaxPods)}
	}
	var errs field.ErrorList
	seen := make(map[string]bool, len(p.Spec.Pods))
	for i := range p.Spec.Pods {
		pod, at := &p.Spec.Pods[i], path.Index(i)
		errs = append(errs, dnsSubdomain(at.Child("name"), pod.Name)...)
		errs = append(errs, dnsSubdomain(at.Child("nodeName"), pod.NodeName)...)
		if seen[pod.Name] {
			errs = append(errs, field.Duplicate(at.Child("name"), pod.Name))
		}
		seen[pod.Name] = true
	}
	return errs
}
