package validation

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	core "github.com/allot-dev/allot/api/core/v1"
)

// podClaims checks spec.resourceClaims (R1): each entry has a unique name and exactly one of four
// sources, and podGroupResourceClaim requires that the pod has a PodGroup.
func podClaims(path *field.Path, spec *core.PodSpec) field.ErrorList {
	seen := map[string]bool{}
	return join(
		each(path, spec.ResourceClaims, func(at *field.Path, claim *core.PodResourceClaim) field.ErrorList {
			var errs field.ErrorList
			if claim.Name == "" || !seen[claim.Name] {
				errs = dnsLabel(at.Child("name"), claim.Name)
			}
			seen[claim.Name] = true
			errs = join(
				errs,
				union(at,
					member{"resourceClaimName", claim.ResourceClaimName != nil},
					member{"resourceClaimTemplateName", claim.ResourceClaimTemplateName != nil},
					member{"clusterResourceClaimTemplateName", claim.ClusterResourceClaimTemplateName != nil},
					member{"podGroupResourceClaim", claim.PodGroupResourceClaim != nil},
				),
				pointerForm(at.Child("resourceClaimName"), claim.ResourceClaimName, validation.IsDNS1123Subdomain),
				pointerForm(at.Child("resourceClaimTemplateName"), claim.ResourceClaimTemplateName, validation.IsDNS1123Subdomain),
				pointerForm(at.Child("clusterResourceClaimTemplateName"), claim.ClusterResourceClaimTemplateName,
					validation.IsDNS1123Subdomain),
				pointerForm(at.Child("podGroupResourceClaim"), claim.PodGroupResourceClaim, validation.IsDNS1123Label),
			)
			if claim.PodGroupResourceClaim != nil && spec.SchedulingGroup == nil {
				errs = append(errs, field.Invalid(at.Child("podGroupResourceClaim"), *claim.PodGroupResourceClaim,
					"may only be set together with `schedulingGroup`"))
			}
			return errs
		}),
		unique(path, spec.ResourceClaims, "name", func(claim *core.PodResourceClaim) string { return claim.Name }),
	)
}

// schedulingGroup checks the reference to a PodGroup (R2). The PodGroup may be created later.
func schedulingGroup(path *field.Path, spec *core.PodSpec) field.ErrorList {
	group := spec.SchedulingGroup
	if group == nil {
		return nil
	}
	at := path.Child("schedulingGroup")
	var errs field.ErrorList
	if group.PodGroupName == nil {
		errs = append(errs, field.Invalid(at.Child("podGroupName"), nil, "must be set"))
	}
	errs = append(errs, pointerForm(at.Child("podGroupName"), group.PodGroupName, validation.IsDNS1123Subdomain)...)
	if len(spec.EvictionResponders) > 0 {
		errs = append(errs, field.Forbidden(at, "may not be set together with `evictionResponders`"))
	}
	return errs
}

// containerClaims checks the claims that a container uses: each at most once, either as a whole or
// by request.
func containerClaims(path *field.Path, uses []corev1.ResourceClaim, claims []core.PodResourceClaim) field.ErrorList {
	known := make(map[string]bool, len(claims))
	for i := range claims {
		known[claims[i].Name] = true
	}
	used, partly := map[string]bool{}, map[string]bool{}
	var errs field.ErrorList
	for i, use := range uses {
		at := path.Index(i)
		switch {
		case use.Name == "":
			errs = append(errs, field.Required(at, "must have a name"))
			continue
		case !known[use.Name]:
			errs = append(errs, field.NotFound(at, use.Name))
		}
		if used[use.Name] {
			errs = append(errs, field.Duplicate(at, use.Name))
			continue
		}
		key := use.Name
		if use.Request != "" {
			errs = append(errs, requiredForm(at.Child("request"), use.Request, validation.IsDNS1123Label)...)
			key += "/" + use.Request
		}
		if used[key] || use.Request == "" && partly[use.Name] {
			errs = append(errs, field.Duplicate(at, key))
		}
		used[key] = true
		if name, _, isPart := strings.Cut(key, "/"); isPart {
			partly[name] = true
		}
	}
	return errs
}

// claimStatuses checks status.resourceClaimStatuses of a pod: at most one entry for each entry of
// the spec.
func claimStatuses(
	path *field.Path, statuses []corev1.PodResourceClaimStatus, claims []core.PodResourceClaim,
) field.ErrorList {
	known := make(map[string]bool, len(claims))
	for i := range claims {
		known[claims[i].Name] = true
	}
	return join(
		each(path, statuses, func(at *field.Path, status *corev1.PodResourceClaimStatus) field.ErrorList {
			return join(
				check(known[status.Name], at.Child("name"), status.Name, "must be the name of an entry in `spec.resourceClaims`"),
				pointerForm(at.Child("resourceClaimName"), status.ResourceClaimName, validation.IsDNS1123Subdomain),
			)
		}),
		unique(path, statuses, "name", func(status *corev1.PodResourceClaimStatus) string { return status.Name }),
	)
}

// extendedClaim checks the claim for a pod's extended resources, and the requests for each
// container.
func extendedClaim(path *field.Path, status *corev1.PodExtendedResourceClaimStatus, pod *core.Pod) field.ErrorList {
	requests := map[string]corev1.ResourceList{}
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			requests[list[i].Name] = list[i].Resources.Requests
		}
	}
	mappings := path.Child("requestMappings")
	return join(
		when(len(status.RequestMappings) == 0, func() field.ErrorList { return errorList(field.Required(mappings, "")) }),
		each(
			mappings,
			status.RequestMappings,
			func(at *field.Path, m *corev1.ContainerExtendedResourceRequest) field.ErrorList {
				asked, known := requests[m.ContainerName]
				errs := wellFormed(at.Child("requestName"), m.RequestName, validation.IsDNS1123Label)
				if !known {
					return append(errs, field.Invalid(at.Child("containerName"), m.ContainerName, "must be the name of a container"))
				}
				_, asks := asked[corev1.ResourceName(m.ResourceName)]
				return append(
					errs,
					check(asks, at.Child("resourceName"), m.ResourceName, "must be a resource that the container requests")...)
			},
		),
		uniqueMappings(mappings, status.RequestMappings),
		requiredForm(path.Child("resourceClaimName"), status.ResourceClaimName, validation.IsDNS1123Subdomain),
	)
}

func uniqueMappings(path *field.Path, list []corev1.ContainerExtendedResourceRequest) field.ErrorList {
	seen := map[corev1.ContainerExtendedResourceRequest]bool{}
	return each(path, list, func(at *field.Path, m *corev1.ContainerExtendedResourceRequest) field.ErrorList {
		if !seen[*m] {
			seen[*m] = true
			return nil
		}
		return field.ErrorList{
			field.Duplicate(at.Child("containerName"), m.ContainerName),
			field.Duplicate(at.Child("resourceName"), m.ResourceName),
			field.Duplicate(at.Child("requestName"), m.RequestName),
		}
	})
}
