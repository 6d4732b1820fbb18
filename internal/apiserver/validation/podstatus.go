package validation

import (
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"

	core "github.com/allot-dev/allot/api/core/v1"
)

// ValidatePodStatusUpdate checks the status that a node or a controller reports.
func ValidatePodStatusUpdate(pod, old *core.Pod) field.ErrorList {
	path, annotations := field.NewPath("status"), field.NewPath("metadata", "annotations")
	status := &pod.Status
	errs := join(
		metadataUpdate(&pod.ObjectMeta, &old.ObjectMeta),
		annotationsUpdate(annotations, pod.Annotations, old.Annotations),
		podAnnotations(annotations, pod.Annotations, &pod.Spec),
		each(path.Child("conditions"), status.Conditions, podCondition),
		nonNegative(path.Child("observedGeneration"), status.ObservedGeneration),
		immutableField(path.Child("qosClass"), status.QOSClass, old.Status.QOSClass),
		claimStatuses(path.Child("resourceClaimStatuses"), status.ResourceClaimStatuses, pod.Spec.ResourceClaims),
		when(status.ExtendedResourceClaimStatus != nil, func() field.ErrorList {
			return extendedClaim(path.Child("extendedResourceClaimStatus"), status.ExtendedResourceClaimStatus, pod)
		}),
		nodeResourceClaims(path.Child("nodeAllocatableResourceClaimStatuses"), pod),
		podAddresses(path, status, &old.Status),
		hostAddresses(path, status, &old.Status),
	)
	for _, list := range []struct {
		field      string
		now, old   []corev1.ContainerStatus
		containers []corev1.Container
	}{
		{"containerStatuses", status.ContainerStatuses, old.Status.ContainerStatuses, pod.Spec.Containers},
		{"initContainerStatuses", status.InitContainerStatuses, old.Status.InitContainerStatuses, pod.Spec.InitContainers},
		{"ephemeralContainerStatuses", status.EphemeralContainerStatuses, old.Status.EphemeralContainerStatuses, nil},
	} {
		at := path.Child(list.field)
		errs = append(errs, restarts(at, &pod.Spec, list.containers, list.now, list.old)...)
		errs = append(errs, each(at, list.now, func(at *field.Path, s *corev1.ContainerStatus) field.ErrorList {
			faults := containerUser(at.Child("user", "linux"), s.User, &pod.Spec)
			if list.field == "ephemeralContainerStatuses" {
				return append(faults, forbidden(at, "ephemeral containers have no resources",
					member{"allocatedResourcesStatus", len(s.AllocatedResourcesStatus) > 0})...)
			}
			return append(faults,
				resourceHealth(at.Child("allocatedResourcesStatus"), s, list.containers, pod)...)
		})...)
	}
	if name := status.NominatedNodeName; name != old.Status.NominatedNodeName {
		errs = append(errs, nodeName(path.Child("nominatedNodeName"), name)...)
		if name != "" && old.Spec.NodeName != "" {
			errs = append(errs, field.Forbidden(path.Child("nominatedNodeName"), "may not be set for a pod that is bound"))
		}
	}
	return errs
}

func podCondition(at *field.Path, c *corev1.PodCondition) field.ErrorList {
	errs := nonNegative(at.Child("observedGeneration"), c.ObservedGeneration)
	switch c.Type {
	case corev1.PodScheduled, corev1.PodReady, corev1.PodInitialized:
		return errs
	}
	return append(errs, wellFormed(at.Child("type"), string(c.Type), validation.IsQualifiedName)...)
}

// podAddresses checks the addresses of a pod: at most one of each family.
func podAddresses(path *field.Path, now, old *corev1.PodStatus) field.ErrorList {
	list := func(s *corev1.PodStatus) []string {
		out := make([]string, len(s.PodIPs))
		for i := range s.PodIPs {
			out[i] = s.PodIPs[i].IP
		}
		return out
	}
	at := path.Child("podIPs")
	return append(ipAddresses(at, list(now), list(old)),
		check((now.PodIP != "") == (len(now.PodIPs) > 0), at, now.PodIPs, "must be set if and only if `podIP` is")...)
}

func hostAddresses(path *field.Path, now, old *corev1.PodStatus) field.ErrorList {
	list := func(s *corev1.PodStatus) []string {
		out := make([]string, len(s.HostIPs))
		for i := range s.HostIPs {
			out[i] = s.HostIPs[i].IP
		}
		return out
	}
	at, ips := path.Child("hostIPs"), list(now)
	return join(
		ipAddresses(at, ips, list(old)),
		check(len(ips) == 0 || ips[0] == now.HostIP, at.Index(0).Child("ip"), now.HostIP, "must be the same as `hostIP`"),
	)
}

func ipAddresses(path *field.Path, now, old []string) field.ErrorList {
	errs := each(path, now, func(at *field.Path, ip *string) field.ErrorList { return ipAddress(at, *ip, old) })
	if len(now) < 2 {
		return errs
	}
	dual, err := netutils.IsDualStackIPStrings(now)
	return append(
		errs,
		check(err == nil && dual && len(now) == 2, path, now, "must have one address of each family at most")...)
}

// restarts rejects the status that a container runs again if its restart policy forbids that.
func restarts(
	path *field.Path, spec *core.PodSpec, containers []corev1.Container, now, old []corev1.ContainerStatus,
) field.ErrorList {
	ephemeral := containers == nil
	if !ephemeral && allMayRestart(spec) {
		return nil
	}
	var errs field.ErrorList
	for i := range old {
		ended := old[i].State.Terminated
		if ended == nil || mayRestart(spec, containers, old[i].Name, ended.ExitCode) {
			continue
		}
		if slices.ContainsFunc(
			now, func(s corev1.ContainerStatus) bool { return s.Name == old[i].Name && s.State.Terminated == nil },
		) {
			errs = append(errs, field.Forbidden(path.Index(i).Child("state"), "may not leave the terminated state"))
		}
	}
	return errs
}

// allMayRestart reports whether the exit of one container may restart all containers.
func allMayRestart(spec *core.PodSpec) bool {
	return slices.ContainsFunc(slices.Concat(spec.InitContainers, spec.Containers), func(c corev1.Container) bool {
		return slices.ContainsFunc(c.RestartPolicyRules, func(r corev1.ContainerRestartRule) bool {
			return r.Action == corev1.ContainerRestartRuleActionRestartAllContainers
		})
	})
}

func mayRestart(spec *core.PodSpec, containers []corev1.Container, name string, code int32) bool {
	for i := range containers {
		if c := &containers[i]; c.Name == name {
			if slices.ContainsFunc(
				c.RestartPolicyRules, func(r corev1.ContainerRestartRule) bool { return ruleCovers(r, code) },
			) {
				return true
			}
			policy := spec.RestartPolicy
			if c.RestartPolicy != nil {
				policy = corev1.RestartPolicy(*c.RestartPolicy)
			}
			return policy == corev1.RestartPolicyAlways || policy == corev1.RestartPolicyOnFailure && code != 0
		}
	}
	return false
}

func ruleCovers(rule corev1.ContainerRestartRule, code int32) bool {
	if rule.ExitCodes == nil || rule.Action != corev1.ContainerRestartRuleActionRestart {
		return false
	}
	in := slices.Contains(rule.ExitCodes.Values, code)
	return in == (rule.ExitCodes.Operator == corev1.ContainerRestartRuleOnExitCodesOpIn)
}

// containerUser checks the user as which a container was started.
func containerUser(path *field.Path, user *corev1.ContainerUser, spec *core.PodSpec) field.ErrorList {
	if user == nil || user.Linux == nil {
		return nil
	}
	if isWindows(spec) {
		return errorList(field.Forbidden(path, "may not be set for a Windows pod"))
	}
	return join(
		between(path.Child("uid"), user.Linux.UID, 0, math.MaxUint32),
		userID(path.Child("gid"), &user.Linux.GID),
		each(path.Child("supplementalGroups"), user.Linux.SupplementalGroups, userID),
	)
}

// resourceHealth checks the reported health of a container's devices.
func resourceHealth(
	path *field.Path, s *corev1.ContainerStatus, containers []corev1.Container, pod *core.Pod,
) field.ErrorList {
	i := slices.IndexFunc(containers, func(c corev1.Container) bool { return c.Name == s.Name })
	return each(path, s.AllocatedResourcesStatus, func(at *field.Path, r *corev1.ResourceStatus) field.ErrorList {
		var errs field.ErrorList
		if i >= 0 {
			errs = check(hasResource(&containers[i], r.Name, pod.Status.ExtendedResourceClaimStatus), at.Child("name"), r.Name,
				"must be a resource that the container requests, or claim:<name> or claim:<name>/<request> as in its claims")
		}
		list := at.Child("resources")
		return join(errs,
			each(list, r.Resources, healthOf),
			distinct(list, r.Resources, "resourceID", func(h *corev1.ResourceHealth) corev1.ResourceID { return h.ResourceID }),
		)
	})
}

func healthOf(at *field.Path, h *corev1.ResourceHealth) field.ErrorList {
	errs := supported(at.Child("health"), h.Health,
		corev1.ResourceHealthStatusHealthy, corev1.ResourceHealthStatusUnhealthy, corev1.ResourceHealthStatusUnknown)
	if h.Message == nil {
		return errs
	}
	errs = append(errs, required(at.Child("message"), *h.Message)...)
	if len(*h.Message) > corev1.ResourceHealthMessageMaxLength {
		errs = append(errs, field.TooLong(at.Child("message"), "", corev1.ResourceHealthMessageMaxLength))
	}
	return errs
}

func hasResource(c *corev1.Container, name corev1.ResourceName, extended *corev1.PodExtendedResourceClaimStatus) bool {
	text, ofClaim := strings.CutPrefix(string(name), "claim:")
	if !ofClaim {
		_, ok := c.Resources.Requests[name]
		return ok
	}
	if slices.ContainsFunc(c.Resources.Claims, func(use corev1.ResourceClaim) bool {
		return text == use.Name && use.Request == "" || use.Request != "" && text == use.Name+"/"+use.Request
	}) {
		return true
	}
	claim, request, ok := strings.Cut(text, "/")
	if extended == nil || !ok || claim == "" || request == "" || claim != extended.ResourceClaimName {
		return false
	}
	return slices.ContainsFunc(extended.RequestMappings, func(m corev1.ContainerExtendedResourceRequest) bool {
		amount := c.Resources.Requests[corev1.ResourceName(m.ResourceName)]
		return m.ContainerName == c.Name && m.RequestName == request && !amount.IsZero()
	})
}

// nodeResourceClaims checks the node-allocatable resources that claims use.
func nodeResourceClaims(path *field.Path, pod *core.Pod) field.ErrorList {
	known := map[string]bool{}
	for i := range pod.Spec.ResourceClaims {
		if name := pod.Spec.ResourceClaims[i].ResourceClaimName; name != nil {
			known[*name] = true
		}
	}
	for _, s := range pod.Status.ResourceClaimStatuses {
		if s.ResourceClaimName != nil {
			known[*s.ResourceClaimName] = true
		}
	}
	list := pod.Status.NodeAllocatableResourceClaimStatuses
	errs := distinct(path, list, "",
		func(s *corev1.NodeAllocatableResourceClaimStatus) string { return s.ResourceClaimName })
	return append(
		errs,
		each(path, list, func(at *field.Path, s *corev1.NodeAllocatableResourceClaimStatus) field.ErrorList {
			name := at.Child("resourceClaimName")
			errs := append(nodeResourceClaimForm(at, s), required(name, s.ResourceClaimName)...)
			if s.ResourceClaimName == "" {
				return errs // as in Kubernetes, amounts that belong to no claim are not looked at
			}
			return join(errs, check(known[s.ResourceClaimName], name, s.ResourceClaimName, "must be a claim of the pod"),
				nodeResourceAmounts(at, s))
		})...)
}

// nodeResourceClaimForm checks that the parts of an entry are complete and unique.
func nodeResourceClaimForm(path *field.Path, s *corev1.NodeAllocatableResourceClaimStatus) field.ErrorList {
	mapping, overhead := path.Child("mapping"), path.Child("overhead")
	return join(
		distinct(path.Child("containers"), s.Containers, "", func(name *string) string { return *name }),
		distinct(mapping, s.Mapping, "",
			func(m *corev1.NodeAllocatableMappedResources) corev1.ResourceName { return m.Name }),
		each(mapping, s.Mapping, func(at *field.Path, m *corev1.NodeAllocatableMappedResources) field.ErrorList {
			errs := required(at.Child("name"), string(m.Name))
			if m.Quantity == nil {
				errs = append(errs, field.Required(at.Child("quantity"), ""))
			}
			return errs
		}),
		distinct(overhead, s.Overhead, "",
			func(o *corev1.NodeAllocatableOverheadResources) corev1.ResourceName { return o.Name }),
		each(overhead, s.Overhead, func(at *field.Path, o *corev1.NodeAllocatableOverheadResources) field.ErrorList {
			return required(at.Child("name"), string(o.Name))
		}),
	)
}

// nodeResourceAmounts checks which resources of the node a claim takes, and how much.
func nodeResourceAmounts(path *field.Path, s *corev1.NodeAllocatableResourceClaimStatus) field.ErrorList {
	resource := func(at *field.Path, name corev1.ResourceName) field.ErrorList {
		ok := name == corev1.ResourceCPU || name == corev1.ResourceMemory || isHugePages(name)
		return check(ok, at.Child("name"), name, "must be cpu, memory or huge pages")
	}
	amount := func(at *field.Path, q *apiresource.Quantity) field.ErrorList {
		return when(q != nil, func() field.ErrorList { return nonNegativeQuantity(at, *q) })
	}
	return join(
		each(
			path.Child("mapping"),
			s.Mapping,
			func(at *field.Path, m *corev1.NodeAllocatableMappedResources) field.ErrorList {
				return append(resource(at, m.Name), amount(at.Child("quantity"), m.Quantity)...)
			},
		),
		each(
			path.Child("overhead"),
			s.Overhead,
			func(at *field.Path, o *corev1.NodeAllocatableOverheadResources) field.ErrorList {
				return join(
					resource(at, o.Name),
					check(o.PerPod != nil || o.PerContainer != nil, at, "", "one of `perPod` and `perContainer` must be set"),
					amount(at.Child("perPod"), o.PerPod),
					amount(at.Child("perContainer"), o.PerContainer),
				)
			},
		),
	)
}

// nodeQuantities checks the quantities in a list of resources with valid names.
func nodeQuantities(path *field.Path, list corev1.ResourceList) field.ErrorList {
	var errs field.ErrorList
	for _, name := range sortedNames(list) {
		errs = append(errs, resourceQuantity(path.Key(string(name)), name, list[name])...)
	}
	return errs
}
