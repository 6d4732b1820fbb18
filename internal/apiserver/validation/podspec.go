package validation

import (
	"math"
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	core "github.com/allot-dev/allot/api/core/v1"
)

// podSpec checks what pods and pod templates have in common.
func podSpec(path *field.Path, spec *core.PodSpec) field.ErrorList {
	return join(
		volumes(path.Child("volumes"), spec.Volumes),
		podClaims(path.Child("resourceClaims"), spec),
		schedulingGroup(path, spec),
		containers(path, spec),
		lifetime(path, spec),
		identity(path, spec),
		placement(path, spec),
		network(path, spec),
		podSecurity(path.Child("securityContext"), spec.SecurityContext),
		podResources(path, spec),
	)
}

func lifetime(path *field.Path, spec *core.PodSpec) field.ErrorList {
	errs := join(
		oneOf(path.Child("restartPolicy"), spec.RestartPolicy, corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever),
		each(path.Child("readinessGates"), spec.ReadinessGates, func(at *field.Path, gate *corev1.PodReadinessGate) field.ErrorList {
			return form(at.Child("conditionType"), string(gate.ConditionType), validation.IsQualifiedName)
		}),
	)
	if spec.TerminationGracePeriodSeconds == nil {
		errs = append(errs, field.Required(path.Child("terminationGracePeriodSeconds"), ""))
	}
	if deadline := spec.ActiveDeadlineSeconds; deadline != nil {
		errs = append(errs, between(path.Child("activeDeadlineSeconds"), *deadline, 1, math.MaxInt32)...)
	}
	return errs
}

// identity is what a pod runs as, and what for.
func identity(path *field.Path, spec *core.PodSpec) field.ErrorList {
	return join(
		optionalForm(path.Child("serviceAccountName"), spec.ServiceAccountName, validation.IsDNS1123Subdomain),
		check(spec.DeprecatedServiceAccount == spec.ServiceAccountName, path.Child("serviceAccount"), spec.DeprecatedServiceAccount,
			"must be the same as serviceAccountName"),
		optionalForm(path.Child("priorityClassName"), spec.PriorityClassName, validation.IsDNS1123Subdomain),
		optionalOneOf(path.Child("preemptionPolicy"), spec.PreemptionPolicy, corev1.PreemptLowerPriority, corev1.PreemptNever),
		pointerForm(path.Child("runtimeClassName"), spec.RuntimeClassName, validation.IsDNS1123Subdomain),
		when(spec.OS != nil, func() field.ErrorList {
			return oneOf(path.Child("os", "name"), spec.OS.Name, corev1.Linux, corev1.Windows)
		}),
	)
}

func placement(path *field.Path, spec *core.PodSpec) field.ErrorList {
	return join(
		nodeName(path.Child("nodeName"), spec.NodeName),
		metav1validation.ValidateLabels(spec.NodeSelector, path.Child("nodeSelector")),
		affinity(path.Child("affinity"), spec.Affinity),
		tolerations(path.Child("tolerations"), spec.Tolerations),
		topologySpread(path.Child("topologySpreadConstraints"), spec.TopologySpreadConstraints),
		each(path.Child("schedulingGates"), spec.SchedulingGates, func(at *field.Path, gate *corev1.PodSchedulingGate) field.ErrorList {
			return form(at.Child("name"), gate.Name, validation.IsQualifiedName)
		}),
		unique(path.Child("schedulingGates"), spec.SchedulingGates, "name", func(gate *corev1.PodSchedulingGate) string { return gate.Name }),
		resourceQuantities(path.Child("overhead"), spec.Overhead, nil),
	)
}

func network(path *field.Path, spec *core.PodSpec) field.ErrorList {
	return join(
		oneOf(path.Child("dnsPolicy"), spec.DNSPolicy,
			corev1.DNSClusterFirstWithHostNet, corev1.DNSClusterFirst, corev1.DNSDefault, corev1.DNSNone),
		dnsConfig(path.Child("dnsConfig"), spec),
		optionalForm(path.Child("hostname"), spec.Hostname, validation.IsDNS1123Label),
		optionalForm(path.Child("subdomain"), spec.Subdomain, validation.IsDNS1123Label),
		each(path.Child("hostAliases"), spec.HostAliases, func(at *field.Path, alias *corev1.HostAlias) field.ErrorList {
			return join(
				validation.IsValidIPForLegacyField(at.Child("ip"), alias.IP, false, nil),
				each(at.Child("hostnames"), alias.Hostnames, func(at *field.Path, name *string) field.ErrorList { return dnsSubdomain(at, *name) }),
			)
		}),
	)
}

func dnsConfig(path *field.Path, spec *core.PodSpec) field.ErrorList {
	none := spec.DNSPolicy == corev1.DNSNone
	config := spec.DNSConfig
	if config == nil {
		if none {
			return one(field.Required(path, "needed with `dnsPolicy` None"))
		}
		return nil
	}
	errs := join(
		atMost(path.Child("nameservers"), len(config.Nameservers), 3),
		each(path.Child("nameservers"), config.Nameservers, func(at *field.Path, server *string) field.ErrorList {
			_, err := netip.ParseAddr(*server)
			return check(err == nil, at, *server, "must be an IP address")
		}),
		atMost(path.Child("searches"), len(config.Searches), 32),
		each(path.Child("searches"), config.Searches, searchDomain),
		each(path.Child("options"), config.Options, func(at *field.Path, option *corev1.PodDNSConfigOption) field.ErrorList {
			return required(at.Child("name"), option.Name)
		}),
	)
	if none && len(config.Nameservers) == 0 {
		errs = append(errs, field.Required(path.Child("nameservers"), "at least one is needed with `dnsPolicy` None"))
	}
	return errs
}

// searchDomain may be the root, may end with it, and may hold names of services.
func searchDomain(path *field.Path, domain *string) field.ErrorList {
	if *domain == "." {
		return nil
	}
	return form(path, strings.TrimSuffix(*domain, "."), validation.IsDNS1123SubdomainWithUnderscore)
}

func podSecurity(path *field.Path, context *corev1.PodSecurityContext) field.ErrorList {
	if context == nil {
		return nil
	}
	errs := join(
		userID(path.Child("runAsUser"), context.RunAsUser),
		userID(path.Child("runAsGroup"), context.RunAsGroup),
		userID(path.Child("fsGroup"), context.FSGroup),
		optionalOneOf(path.Child("fsGroupChangePolicy"), context.FSGroupChangePolicy, corev1.FSGroupChangeAlways, corev1.FSGroupChangeOnRootMismatch),
	)
	for i := range context.SupplementalGroups {
		errs = append(errs, userID(path.Child("supplementalGroups").Index(i), &context.SupplementalGroups[i])...)
	}
	return errs
}

func userID(path *field.Path, id *int64) field.ErrorList {
	if id == nil {
		return nil
	}
	return between(path, *id, 0, math.MaxInt32)
}
