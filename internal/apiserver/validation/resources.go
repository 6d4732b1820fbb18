package validation

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	core "github.com/allot-dev/allot/api/core/v1"
)

// resourceQuantities checks names and values of a resource list. Names without a
// domain are Kubernetes' own; allowed may say which of those there are.
func resourceQuantities(path *field.Path, list corev1.ResourceList, allowed func(corev1.ResourceName) bool) field.ErrorList {
	var errs field.ErrorList
	for _, name := range sortedNames(list) {
		at, quantity := path.Key(string(name)), list[name]
		errs = append(errs, form(at, string(name), validation.IsQualifiedName)...)
		if allowed != nil && !allowed(name) {
			errs = append(errs, field.Invalid(at, name, "must be a resource that containers can have, or a name with a domain"))
		}
		errs = append(errs, nonNegativeQuantity(at, quantity)...)
		if isExtended(name) {
			errs = append(errs, check(isInteger(quantity), at, quantity.String(), "must be an integer")...)
		}
	}
	return errs
}

func nonNegativeQuantity(path *field.Path, quantity apiresource.Quantity) field.ErrorList {
	return check(quantity.Sign() >= 0, path, quantity.String(), "must be greater than or equal to 0")
}

func isInteger(quantity apiresource.Quantity) bool {
	return quantity.MilliValue()%1000 == 0
}

func sortedNames(list corev1.ResourceList) []corev1.ResourceName {
	names := make([]corev1.ResourceName, 0, len(list))
	for name := range list {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// containerResources checks what a container asks for and may use.
func containerResources(path *field.Path, resources *corev1.ResourceRequirements, claims []core.PodResourceClaim) field.ErrorList {
	return join(
		resourceQuantities(path.Child("limits"), resources.Limits, isContainerResource),
		resourceQuantities(path.Child("requests"), resources.Requests, isContainerResource),
		requestsWithinLimits(path, resources),
		containerClaims(path.Child("claims"), resources.Claims, claims),
	)
}

// requestsWithinLimits also holds those resources that cannot be overcommitted to
// a request that equals the limit.
func requestsWithinLimits(path *field.Path, resources *corev1.ResourceRequirements) field.ErrorList {
	var errs field.ErrorList
	for _, name := range sortedNames(resources.Requests) {
		at, request := path.Child("requests").Key(string(name)), resources.Requests[name]
		limit, limited := resources.Limits[name]
		exact := isExtended(name) || isHugePages(name)
		switch {
		case limited && exact && request.Cmp(limit) != 0:
			errs = append(errs, field.Invalid(at, request.String(), "must equal the limit of "+string(name)))
		case limited && request.Cmp(limit) > 0:
			errs = append(errs, field.Invalid(at, request.String(), "must be less than or equal to the limit of "+string(name)))
		case !limited && exact:
			errs = append(errs, field.Required(path.Child("limits").Key(string(name)), "needed, since "+string(name)+" cannot be overcommitted"))
		}
	}
	return errs
}

// podResources checks spec.resources, the budget of the whole pod.
func podResources(path *field.Path, spec *core.PodSpec) field.ErrorList {
	if spec.Resources == nil {
		return nil
	}
	at := path.Child("resources")
	supported := func(name corev1.ResourceName) bool {
		return name == corev1.ResourceCPU || name == corev1.ResourceMemory || isHugePages(name)
	}
	var errs field.ErrorList
	for _, part := range []struct {
		field string
		list  corev1.ResourceList
	}{{"limits", spec.Resources.Limits}, {"requests", spec.Resources.Requests}} {
		for _, name := range sortedNames(part.list) {
			if !supported(name) {
				errs = append(errs, field.NotSupported(at.Child(part.field).Key(string(name)), name,
					[]corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceHugePagesPrefix + "*"}))
			}
		}
		errs = append(errs, resourceQuantities(at.Child(part.field), part.list, nil)...)
	}
	if len(spec.Resources.Claims) > 0 {
		errs = append(errs, field.Forbidden(at.Child("claims"), "may only be set for containers"))
	}
	return append(errs, requestsWithinLimits(at, spec.Resources)...)
}

func isContainerResource(name corev1.ResourceName) bool {
	switch name {
	case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
		return true
	}
	return isHugePages(name) || strings.Contains(string(name), "/")
}

func isHugePages(name corev1.ResourceName) bool {
	return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

// isExtended says whether a name has a domain that is not Kubernetes' own.
func isExtended(name corev1.ResourceName) bool {
	domain, _, ok := strings.Cut(string(name), "/")
	return ok && domain != "kubernetes.io" && !strings.HasSuffix(domain, ".kubernetes.io")
}
