package registry

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"
	"k8s.io/utils/ptr"
)

// setFamilies sets the policy and the families of a Service's addresses on a cluster whose
// addresses are of one family; old is nil for a new Service. It returns errors for what such a
// cluster does not have. A Service with invalid fields is left to validation.
func setFamilies(spec, old *corev1.ServiceSpec, family corev1.IPFamily) field.ErrorList {
	if spec.Type == corev1.ServiceTypeExternalName {
		return nil
	}
	if old != nil && keepsPreferredFamilies(spec, old) {
		return nil
	}
	setFamilyPolicy(spec, old)
	if *spec.IPFamilyPolicy == corev1.IPFamilyPolicySingleStack && old != nil {
		dropSecondFamily(spec, old)
	}
	errs := append(singleStackErrors(spec), addFamilies(spec, family)...)
	if len(errs) > 0 {
		return errs
	}
	if isHeadless(spec) && len(spec.Selector) == 0 {
		setUnselectedFamilies(spec, family)
		return nil
	}
	path := field.NewPath("spec")
	if *spec.IPFamilyPolicy == corev1.IPFamilyPolicyRequireDualStack {
		errs = append(errs, field.Invalid(path.Child("ipFamilyPolicy"), *spec.IPFamilyPolicy,
			"this cluster is not configured for dual-stack services"))
	}
	for i, f := range spec.IPFamilies {
		if f != family {
			errs = append(errs, field.Invalid(path.Child("ipFamilies").Index(i), f, "not configured on this cluster"))
		}
	}
	if len(spec.IPFamilies) == 0 {
		spec.IPFamilies = []corev1.IPFamily{family}
	}
	return errs
}

// keepsPreferredFamilies reports whether nothing about the addresses changes in a Service that
// prefers two families, so that it keeps what it has.
func keepsPreferredFamilies(spec, old *corev1.ServiceSpec) bool {
	prefers := func(s *corev1.ServiceSpec) bool {
		return ptr.Deref(s.IPFamilyPolicy, "") == corev1.IPFamilyPolicyPreferDualStack
	}
	return prefers(spec) && prefers(old) && len(spec.ClusterIPs) > 0 && slices.Equal(spec.ClusterIPs, old.ClusterIPs) &&
		slices.Equal(spec.IPFamilies, old.IPFamilies)
}

func setFamilyPolicy(spec, old *corev1.ServiceSpec) {
	switch {
	case spec.IPFamilyPolicy != nil:
	case old != nil && old.IPFamilyPolicy != nil:
		spec.IPFamilyPolicy = ptr.To(*old.IPFamilyPolicy)
	case isHeadless(spec) && len(spec.Selector) == 0:
		spec.IPFamilyPolicy = ptr.To(corev1.IPFamilyPolicyRequireDualStack)
	default:
		spec.IPFamilyPolicy = ptr.To(corev1.IPFamilyPolicySingleStack)
	}
}

// dropSecondFamily drops the second address and family if the client has only changed the policy.
func dropSecondFamily(spec, old *corev1.ServiceSpec) {
	if slices.Equal(spec.ClusterIPs, old.ClusterIPs) && len(spec.ClusterIPs) > 1 {
		spec.ClusterIPs = spec.ClusterIPs[:1:1]
	}
	if slices.Equal(spec.IPFamilies, old.IPFamilies) && len(spec.IPFamilies) > 1 {
		spec.IPFamilies = spec.IPFamilies[:1:1]
	}
}

func singleStackErrors(spec *corev1.ServiceSpec) field.ErrorList {
	if *spec.IPFamilyPolicy != corev1.IPFamilyPolicySingleStack {
		return nil
	}
	var errs field.ErrorList
	const needs = "must be 'RequireDualStack' or 'PreferDualStack' when multiple %s are specified"
	path := field.NewPath("spec", "ipFamilyPolicy")
	if len(spec.ClusterIPs) == 2 {
		errs = append(errs, field.Invalid(path, *spec.IPFamilyPolicy, fmt.Sprintf(needs, "cluster IPs")))
	}
	if len(spec.IPFamilies) == 2 {
		errs = append(errs, field.Invalid(path, *spec.IPFamilyPolicy, fmt.Sprintf(needs, "IP families")))
	}
	return errs
}

// addFamilies adds the families of the addresses that the client has chosen.
func addFamilies(spec *corev1.ServiceSpec, family corev1.IPFamily) field.ErrorList {
	var errs field.ErrorList
	for i, ip := range spec.ClusterIPs {
		if ip == corev1.ClusterIPNone {
			break
		}
		if i < len(spec.IPFamilies) {
			continue
		}
		f := familyOf(ip)
		if f != family {
			errs = append(errs, field.Invalid(field.NewPath("spec", "clusterIPs").Index(i), spec.ClusterIPs,
				fmt.Sprintf("%s is not configured on this cluster", f)))
			continue
		}
		spec.IPFamilies = append(spec.IPFamilies, f)
	}
	return errs
}

// setUnselectedFamilies sets the families of a headless Service without selector, whose endpoints
// may be of each family on any cluster.
func setUnselectedFamilies(spec *corev1.ServiceSpec, family corev1.IPFamily) {
	if len(spec.IPFamilies) == 0 {
		spec.IPFamilies = []corev1.IPFamily{family}
	}
	if len(spec.IPFamilies) > 1 || *spec.IPFamilyPolicy == corev1.IPFamilyPolicySingleStack {
		return
	}
	other := corev1.IPv6Protocol
	if spec.IPFamilies[0] == corev1.IPv6Protocol {
		other = corev1.IPv4Protocol
	}
	spec.IPFamilies = append(spec.IPFamilies, other)
}

func isHeadless(spec *corev1.ServiceSpec) bool { return spec.ClusterIP == corev1.ClusterIPNone }

func familyOf(ip string) corev1.IPFamily {
	if netutils.IsIPv6String(ip) {
		return corev1.IPv6Protocol
	}
	return corev1.IPv4Protocol
}
