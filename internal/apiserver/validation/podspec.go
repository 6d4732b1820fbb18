package validation

import (
	"math"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	core "github.com/allot-dev/allot/api/core/v1"
)

// podSpec checks the fields that pods and pod templates have in common. The metadata is nil for a
// template.
func podSpec(path *field.Path, spec *core.PodSpec, pod *metav1.ObjectMeta) field.ErrorList {
	valid, errs := volumes(path.Child("volumes"), spec.Volumes, pod)
	return join(errs,
		podClaims(path.Child("resourceClaims"), spec),
		schedulingGroup(path, spec),
		containers(path, spec, valid),
		envFiles(path, spec),
		lifetime(path, spec),
		identity(path, spec),
		placement(path, spec),
		network(path, spec),
		podSecurity(path.Child("securityContext"), spec),
		hostUsers(path, spec),
		hostProcess(path, spec),
		forOS(path, spec),
		podResources(path.Child("resources"), spec),
	)
}

func lifetime(path *field.Path, spec *core.PodSpec) field.ErrorList {
	errs := join(
		oneOf(path.Child("restartPolicy"), spec.RestartPolicy, corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure,
			corev1.RestartPolicyNever),
		each(
			path.Child("readinessGates"),
			spec.ReadinessGates,
			func(at *field.Path, gate *corev1.PodReadinessGate) field.ErrorList {
				return wellFormed(at.Child("conditionType"), string(gate.ConditionType), validation.IsQualifiedName)
			},
		),
	)
	if spec.TerminationGracePeriodSeconds == nil {
		errs = append(errs, field.Required(path.Child("terminationGracePeriodSeconds"), ""))
	}
	if deadline := spec.ActiveDeadlineSeconds; deadline != nil {
		errs = append(errs, between(path.Child("activeDeadlineSeconds"), *deadline, 1, math.MaxInt32)...)
	}
	return errs
}

// identity checks service account, host namespaces and operating system.
func identity(path *field.Path, spec *core.PodSpec) field.ErrorList {
	return join(
		optionalForm(path.Child("serviceAccountName"), spec.ServiceAccountName, validation.IsDNS1123Subdomain),
		check(
			spec.DeprecatedServiceAccount == spec.ServiceAccountName,
			path.Child("serviceAccount"),
			spec.DeprecatedServiceAccount,
			"must be the same as serviceAccountName",
		),
		optionalForm(path.Child("priorityClassName"), spec.PriorityClassName, validation.IsDNS1123Subdomain),
		optionalOneOf(path.Child("preemptionPolicy"), spec.PreemptionPolicy, corev1.PreemptLowerPriority,
			corev1.PreemptNever),
		pointerForm(path.Child("runtimeClassName"), spec.RuntimeClassName, validation.IsDNS1123Subdomain),
		check(!spec.HostPID || !ptr.Deref(spec.ShareProcessNamespace, false), path.Child("shareProcessNamespace"), true,
			"may not be true with `hostPID`"),
	)
}

func placement(path *field.Path, spec *core.PodSpec) field.ErrorList {
	gates := path.Child("schedulingGates")
	return join(
		nodeName(path.Child("nodeName"), spec.NodeName),
		metav1validation.ValidateLabels(spec.NodeSelector, path.Child("nodeSelector")),
		affinity(path.Child("affinity"), spec.Affinity),
		tolerations(path.Child("tolerations"), spec.Tolerations),
		topologySpread(path.Child("topologySpreadConstraints"), spec.TopologySpreadConstraints),
		each(gates, spec.SchedulingGates, func(at *field.Path, gate *corev1.PodSchedulingGate) field.ErrorList {
			return wellFormed(at, gate.Name, validation.IsQualifiedName)
		}),
		distinct(gates, spec.SchedulingGates, "", func(gate *corev1.PodSchedulingGate) string { return gate.Name }),
		overhead(path.Child("overhead"), spec.Overhead),
	)
}

// overhead is checked like the limits of a container.
func overhead(path *field.Path, list corev1.ResourceList) field.ErrorList {
	var errs field.ErrorList
	for _, name := range sortedNames(list) {
		at := path.Key(string(name))
		errs = append(
			errs,
			join(containerResourceName(at, name), resourceQuantity(at, name, list[name]), wholePages(at, name, list[name]))...)
	}
	return errs
}

func network(path *field.Path, spec *core.PodSpec) field.ErrorList {
	return join(
		oneOf(path.Child("dnsPolicy"), spec.DNSPolicy,
			corev1.DNSClusterFirstWithHostNet, corev1.DNSClusterFirst, corev1.DNSDefault, corev1.DNSNone),
		dnsConfig(path.Child("dnsConfig"), spec),
		optionalForm(path.Child("hostname"), spec.Hostname, validation.IsDNS1123Label),
		optionalForm(path.Child("subdomain"), spec.Subdomain, validation.IsDNS1123Label),
		hostname(path, spec),
		each(path.Child("hostAliases"), spec.HostAliases, func(at *field.Path, alias *corev1.HostAlias) field.ErrorList {
			return join(
				ipAddress(at.Child("ip"), alias.IP, nil),
				each(at.Child("hostnames"), alias.Hostnames, func(at *field.Path, name *string) field.ErrorList {
					return wellFormed(at, *name, validation.IsDNS1123Subdomain)
				}),
			)
		}),
	)
}

// ipAddress checks an address. Existing addresses in a legacy format are accepted.
func ipAddress(path *field.Path, address string, before []string) field.ErrorList {
	return validation.IsValidIPForLegacyField(path, address, true, before)
}

// Limits of the resolver in Linux.
const (
	maxNameservers   = 3
	maxSearches      = 32
	maxSearchesRunes = 2048
)

func dnsConfig(path *field.Path, spec *core.PodSpec) field.ErrorList {
	config := spec.DNSConfig
	if spec.DNSPolicy == corev1.DNSNone {
		switch {
		case config == nil:
			return errorList(field.Required(path, "needed with `dnsPolicy` None"))
		case len(config.Nameservers) == 0:
			return errorList(field.Required(path.Child("nameservers"), "at least one is needed with `dnsPolicy` None"))
		}
	}
	if config == nil {
		return nil
	}
	servers, searches := path.Child("nameservers"), path.Child("searches")
	return join(
		check(len(config.Nameservers) <= maxNameservers, servers, config.Nameservers, "must have at most 3 elements"),
		each(servers, config.Nameservers,
			func(at *field.Path, server *string) field.ErrorList { return ipAddress(at, *server, nil) }),
		check(len(config.Searches) <= maxSearches, searches, config.Searches, "must have at most 32 elements"),
		check(len(strings.Join(config.Searches, " ")) <= maxSearchesRunes, searches, config.Searches,
			"must have at most 2048 characters in all"),
		each(searches, config.Searches, searchDomain),
		each(path.Child("options"), config.Options, func(at *field.Path, option *corev1.PodDNSConfigOption) field.ErrorList {
			return required(at, option.Name)
		}),
	)
}

// searchDomain checks a search domain. It may be the root, may end with it, and may have names of
// services.
func searchDomain(path *field.Path, domain *string) field.ErrorList {
	if *domain == "." {
		return nil
	}
	return wellFormed(path, strings.TrimSuffix(*domain, "."), validation.IsDNS1123SubdomainWithUnderscore)
}

// envFiles checks that files with environment variables are in volumes that init containers can
// write to.
func envFiles(path *field.Path, spec *core.PodSpec) field.ErrorList {
	return eachContainer(path, spec, func(at *field.Path, c *corev1.Container) field.ErrorList {
		return each(at.Child("env"), c.Env, func(at *field.Path, v *corev1.EnvVar) field.ErrorList {
			if v.ValueFrom == nil || v.ValueFrom.FileKeyRef == nil {
				return nil
			}
			at, name := at.Child("valueFrom", "fileKeyRef", "volumeName"), v.ValueFrom.FileKeyRef.VolumeName
			for i := range spec.Volumes {
				if spec.Volumes[i].Name == name {
					return check(spec.Volumes[i].EmptyDir != nil, at, name, "must be an emptyDir")
				}
			}
			return errorList(field.NotFound(at, name))
		})
	})
}
