package validation

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	resourcehelper "k8s.io/component-helpers/resource"

	core "github.com/allot-dev/allot/api/core/v1"
)

// resourceName checks the name of a resource: one of Kubernetes' own, or one with a domain.
func resourceName(path *field.Path, name corev1.ResourceName) field.ErrorList {
	if errs := wellFormed(path, string(name), validation.IsQualifiedName); len(errs) > 0 {
		return errs
	}
	return check(strings.Contains(string(name), "/") || standardResources().Has(name) || isHugePages(name) ||
		strings.HasPrefix(string(name), corev1.ResourceRequestsHugePagesPrefix),
		path, name, "must be a resource of Kubernetes, or a name with a domain")
}

// standardResources returns the names without a domain, including those for nodes, quota and
// volumes.
func standardResources() sets.Set[corev1.ResourceName] {
	return sets.New(
		corev1.ResourceCPU,
		corev1.ResourceMemory,
		corev1.ResourceEphemeralStorage,
		corev1.ResourceStorage,
		corev1.ResourceRequestsCPU,
		corev1.ResourceRequestsMemory,
		corev1.ResourceRequestsEphemeralStorage,
		corev1.ResourceRequestsStorage,
		corev1.ResourceLimitsCPU,
		corev1.ResourceLimitsMemory,
		corev1.ResourceLimitsEphemeralStorage,
		corev1.ResourcePods,
		corev1.ResourceQuotas,
		corev1.ResourceServices,
		corev1.ResourceReplicationControllers,
		corev1.ResourceSecrets,
		corev1.ResourceConfigMaps,
		corev1.ResourcePersistentVolumeClaims,
		corev1.ResourceServicesNodePorts,
		corev1.ResourceServicesLoadBalancers,
	)
}

// countedResources returns the standardResources that are integers.
func countedResources() sets.Set[corev1.ResourceName] {
	return sets.New(
		corev1.ResourcePods,
		corev1.ResourceQuotas,
		corev1.ResourceServices,
		corev1.ResourceReplicationControllers,
		corev1.ResourceSecrets,
		corev1.ResourceConfigMaps,
		corev1.ResourcePersistentVolumeClaims,
		corev1.ResourceServicesNodePorts,
		corev1.ResourceServicesLoadBalancers,
	)
}

func containerResourceName(path *field.Path, name corev1.ResourceName) field.ErrorList {
	errs := resourceName(path, name)
	switch {
	case !strings.Contains(string(name), "/"):
		switch name {
		case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
			return errs
		}
		return append(
			errs,
			check(isHugePages(name), path, name, "must be a resource that containers can have, or a name with a domain")...)
	case !isNative(name):
		return append(errs, check(isExtended(name), path, name, "must be a name for which there can be a quota")...)
	}
	return errs
}

func podResourceName(path *field.Path, name corev1.ResourceName) field.ErrorList {
	if errs := resourceName(path, name); len(errs) > 0 {
		return errs
	}
	if !resourcehelper.IsSupportedPodLevelResource(name) {
		return errorList(field.NotSupported(path, name, sets.List(resourcehelper.SupportedPodLevelResources())))
	}
	return nil
}

// resourceQuantity checks a quantity of a resource.
func resourceQuantity(path *field.Path, name corev1.ResourceName, quantity apiresource.Quantity) field.ErrorList {
	errs := nonNegativeQuantity(path, quantity)
	if isExtended(name) || countedResources().Has(name) {
		errs = append(errs, check(isInteger(quantity), path, quantity.String(), "must be an integer")...)
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

// containerResources checks the resources of a container.
func containerResources(
	path *field.Path, resources *corev1.ResourceRequirements, claims []core.PodResourceClaim,
) field.ErrorList {
	return append(
		requirements(path, resources, containerResourceName),
		containerClaims(path.Child("claims"), resources.Claims, claims)...)
}

// requirements checks names and quantities, and that requests do not exceed limits, or equal them
// for resources that cannot be overcommitted.
func requirements(
	path *field.Path, r *corev1.ResourceRequirements, rule func(*field.Path, corev1.ResourceName) field.ErrorList,
) field.ErrorList {
	var errs field.ErrorList
	hugePages, compute := false, false
	for _, part := range []struct {
		field string
		list  corev1.ResourceList
	}{{"limits", r.Limits}, {"requests", r.Requests}} {
		for _, name := range sortedNames(part.list) {
			at, quantity := path.Child(part.field).Key(string(name)), part.list[name]
			errs = append(errs, rule(at, name)...)
			errs = append(errs, resourceQuantity(at, name, quantity)...)
			errs = append(errs, wholePages(at, name, quantity)...)
			hugePages = hugePages || isHugePages(name)
			compute = compute || name == corev1.ResourceCPU || name == corev1.ResourceMemory
		}
	}
	if hugePages && !compute {
		errs = append(errs, field.Forbidden(path, "huge pages also require cpu or memory"))
	}
	return append(errs, requestsWithinLimits(path, r)...)
}

func requestsWithinLimits(path *field.Path, r *corev1.ResourceRequirements) field.ErrorList {
	at := path.Child("requests")
	var errs field.ErrorList
	for _, name := range sortedNames(r.Requests) {
		request := r.Requests[name]
		limit, limited := r.Limits[name]
		exact := !isNative(name) || isHugePages(name)
		switch {
		case limited && exact && request.Cmp(limit) != 0:
			errs = append(errs, field.Invalid(at, request.String(), "must equal the limit of "+string(name)))
		case limited && request.Cmp(limit) > 0:
			errs = append(errs, field.Invalid(at, request.String(), "must be less than or equal to the limit of "+string(name)))
		case !limited && exact:
			errs = append(errs,
				field.Required(path.Child("limits"), "needed for "+string(name)+", which cannot be overcommitted"))
		}
	}
	return errs
}

// wholePages checks that the quantity is a multiple of the page size.
func wholePages(path *field.Path, name corev1.ResourceName, quantity apiresource.Quantity) field.ErrorList {
	text, ok := strings.CutPrefix(string(name), corev1.ResourceHugePagesPrefix)
	if !ok {
		return nil
	}
	size, err := apiresource.ParseQuantity(text)
	divisible := err == nil && size.Sign() > 0 && size.MilliValue()%1000 == 0 && quantity.Value()%size.Value() == 0
	return check(divisible, path, quantity.String(), "must be a multiple of the size of a page")
}

// podResources checks spec.resources, the resources of the whole pod.
func podResources(path *field.Path, spec *core.PodSpec) field.ErrorList {
	r := spec.Resources
	if r == nil {
		return nil
	}
	if spec.OS != nil && spec.OS.Name == corev1.Windows {
		return errorList(field.Forbidden(path, "may not be set for a Windows pod"))
	}
	errs := append(
		requirements(path, r, podResourceName),
		containerClaims(path.Child("claims"), r.Claims, spec.ResourceClaims)...)
	if r.Claims != nil {
		errs = append(errs, field.Forbidden(path.Child("claims"), "may only be set for containers"))
	}
	return append(errs, containersWithinPod(path, spec)...)
}

// containersWithinPod checks that the containers together do not exceed the resources of the pod.
func containersWithinPod(path *field.Path, spec *core.PodSpec) field.ErrorList {
	pod := (&core.Pod{Spec: *spec}).Upstream()
	var errs field.ErrorList
	for name, sum := range resourcehelper.AggregateContainerRequests(pod, resourcehelper.PodResourcesOptions{}) {
		if whole, ok := spec.Resources.Requests[name]; ok {
			errs = append(errs, check(sum.Cmp(whole) <= 0, path.Child("requests").Key(string(name)), whole.String(),
				"must not be less than the requests of the containers together: "+sum.String())...)
		}
	}
	for name, sum := range resourcehelper.AggregateContainerLimits(pod, resourcehelper.PodResourcesOptions{}) {
		if whole, ok := spec.Resources.Limits[name]; ok && isHugePages(name) {
			errs = append(errs, check(sum.Cmp(whole) <= 0, path.Child("limits").Key(string(name)), whole.String(),
				"must not be less than the limits of the containers together: "+sum.String())...)
		}
	}
	for i := range spec.Containers {
		for _, name := range sortedNames(spec.Containers[i].Resources.Limits) {
			limit := spec.Containers[i].Resources.Limits[name]
			if whole, ok := spec.Resources.Limits[name]; ok && limit.Cmp(whole) > 0 {
				errs = append(
					errs,
					field.Invalid(path.Child("containers").Index(i).Key(string(name)).Child("limits"), limit.String(),
						"must be less than or equal to the limit of the pod: "+whole.String()),
				)
			}
		}
	}
	return errs
}

func isHugePages(name corev1.ResourceName) bool {
	return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

// isNative reports whether a resource is one of Kubernetes' own.
func isNative(name corev1.ResourceName) bool {
	return !strings.Contains(string(name), "/") || strings.Contains(string(name), corev1.ResourceDefaultNamespacePrefix)
}

// isExtended reports whether a resource is an extended resource for which there can be a quota.
func isExtended(name corev1.ResourceName) bool {
	return !isNative(name) && !strings.HasPrefix(string(name), corev1.DefaultResourceRequestsPrefix) &&
		len(validation.IsQualifiedName(corev1.DefaultResourceRequestsPrefix+string(name))) == 0
}
