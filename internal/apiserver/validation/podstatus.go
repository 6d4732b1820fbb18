package validation

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	core "github.com/allot-dev/allot/api/core/v1"
)

// ValidatePodStatusUpdate checks what a node or a controller reports about a pod.
func ValidatePodStatusUpdate(pod, old *core.Pod) field.ErrorList {
	path := field.NewPath("status")
	status := &pod.Status
	errs := join(
		metadataUpdate(&pod.ObjectMeta, &old.ObjectMeta),
		each(path.Child("conditions"), status.Conditions, func(at *field.Path, c *corev1.PodCondition) field.ErrorList {
			return nonNegative(at.Child("observedGeneration"), c.ObservedGeneration)
		}),
		nonNegative(path.Child("observedGeneration"), status.ObservedGeneration),
		when(old.Status.QOSClass != "", func() field.ErrorList {
			return same(path.Child("qosClass"), status.QOSClass, old.Status.QOSClass)
		}),
		restarts(path.Child("containerStatuses"), pod, status.ContainerStatuses, old.Status.ContainerStatuses),
		restarts(path.Child("initContainerStatuses"), pod, status.InitContainerStatuses, old.Status.InitContainerStatuses),
		claimStatuses(path.Child("resourceClaimStatuses"), status.ResourceClaimStatuses, pod.Spec.ResourceClaims),
		when(status.ExtendedResourceClaimStatus != nil, func() field.ErrorList {
			return extendedClaim(path.Child("extendedResourceClaimStatus"), status.ExtendedResourceClaimStatus, pod)
		}),
		// One address of each family.
		atMost(path.Child("podIPs"), len(status.PodIPs), 2),
		each(path.Child("podIPs"), status.PodIPs, func(at *field.Path, ip *corev1.PodIP) field.ErrorList {
			return validation.IsValidIPForLegacyField(at, ip.IP, false, podIPs(&old.Status))
		}),
		unique(path.Child("podIPs"), status.PodIPs, "", func(ip *corev1.PodIP) string { return ip.IP }),
	)
	if name := status.NominatedNodeName; name != old.Status.NominatedNodeName {
		errs = append(errs, nodeName(path.Child("nominatedNodeName"), name)...)
		if name != "" && old.Spec.NodeName != "" {
			errs = append(errs, field.Forbidden(path.Child("nominatedNodeName"), "may not be set for a pod that is bound"))
		}
	}
	return errs
}

func podIPs(status *corev1.PodStatus) []string {
	ips := make([]string, len(status.PodIPs))
	for i := range status.PodIPs {
		ips[i] = status.PodIPs[i].IP
	}
	return ips
}

// restarts refuses a report that a container runs again which may not.
func restarts(path *field.Path, pod *core.Pod, now, old []corev1.ContainerStatus) field.ErrorList {
	var errs field.ErrorList
	for i := range old {
		ended := old[i].State.Terminated
		if ended == nil || mayRestart(pod, old[i].Name, ended.ExitCode) {
			continue
		}
		for j := range now {
			if now[j].Name == old[i].Name && now[j].State.Terminated == nil {
				errs = append(errs, field.Forbidden(path.Index(j).Child("state"), "may not leave the terminated state"))
			}
		}
	}
	return errs
}

func mayRestart(pod *core.Pod, name string, code int32) bool {
	policy := pod.Spec.RestartPolicy
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			if list[i].Name != name || list[i].RestartPolicy == nil {
				continue
			}
			policy = corev1.RestartPolicy(*list[i].RestartPolicy)
			if slices.ContainsFunc(list[i].RestartPolicyRules, func(r corev1.ContainerRestartRule) bool { return ruleCovers(r, code) }) {
				return true
			}
		}
	}
	return policy == corev1.RestartPolicyAlways || policy == corev1.RestartPolicyOnFailure && code != 0
}

func ruleCovers(rule corev1.ContainerRestartRule, code int32) bool {
	if rule.ExitCodes == nil {
		return false
	}
	in := slices.Contains(rule.ExitCodes.Values, code)
	return in == (rule.ExitCodes.Operator == corev1.ContainerRestartRuleOnExitCodesOpIn)
}
