package validation

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// ValidateService checks a new Service. Addresses and node ports are stored as the client gives them: none are allocated.
func ValidateService(s *corev1.Service) field.ErrorList {
	return append(metadata(&s.ObjectMeta, namespaced, apivalidation.NameIsDNSLabel), serviceSpec(field.NewPath("spec"), &s.Spec)...)
}

// ValidateServiceUpdate checks a change of a Service. An address stays as long as the Service has a type that has one.
func ValidateServiceUpdate(s, old *corev1.Service) field.ErrorList {
	path := field.NewPath("spec")
	errs := join(metadataUpdate(&s.ObjectMeta, &old.ObjectMeta), serviceSpec(path, &s.Spec))
	external := corev1.ServiceTypeExternalName
	if s.Spec.Type != external && old.Spec.Type != external && old.Spec.ClusterIP != "" {
		errs = append(errs, same(path.Child("clusterIP"), s.Spec.ClusterIP, old.Spec.ClusterIP)...)
	}
	return errs
}

// ValidateServiceStatusUpdate checks what a load balancer reports.
func ValidateServiceStatusUpdate(s, old *corev1.Service) field.ErrorList {
	path := field.NewPath("status", "loadBalancer", "ingress")
	errs := metadataUpdate(&s.ObjectMeta, &old.ObjectMeta)
	if len(s.Status.LoadBalancer.Ingress) > 0 && s.Spec.Type != corev1.ServiceTypeLoadBalancer {
		errs = append(errs, field.Forbidden(path, onlyFor(corev1.ServiceTypeLoadBalancer)))
	}
	return append(errs, each(path, s.Status.LoadBalancer.Ingress, func(at *field.Path, in *corev1.LoadBalancerIngress) field.ErrorList {
		return join(
			when(in.IP != "", func() field.ErrorList { return validation.IsValidIPForLegacyField(at.Child("ip"), in.IP, false, nil) }),
			optionalForm(at.Child("hostname"), in.Hostname, validation.IsDNS1123Subdomain),
		)
	})...)
}

func onlyFor(types ...corev1.ServiceType) string {
	return "may only be set where `type` is " + strings.Trim(strings.ReplaceAll(fmt.Sprint(types), " ", " or "), "[]")
}

func serviceSpec(path *field.Path, spec *corev1.ServiceSpec) field.ErrorList {
	return join(
		oneOf(path.Child("type"), spec.Type,
			corev1.ServiceTypeClusterIP, corev1.ServiceTypeExternalName, corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort),
		servicePorts(path.Child("ports"), spec),
		metav1validation.ValidateLabels(spec.Selector, path.Child("selector")),
		sessionAffinity(path, spec),
		clusterIPs(path, spec),
		externalName(path, spec),
		outside(path, spec),
		traffic(path, spec),
	)
}

func headless(spec *corev1.ServiceSpec) bool {
	return spec.ClusterIP == corev1.ClusterIPNone || len(spec.ClusterIPs) == 1 && spec.ClusterIPs[0] == corev1.ClusterIPNone
}

func servicePorts(path *field.Path, spec *corev1.ServiceSpec) field.ErrorList {
	if len(spec.Ports) == 0 && !headless(spec) && spec.Type != corev1.ServiceTypeExternalName {
		return one(field.Required(path, ""))
	}
	type use struct {
		protocol corev1.Protocol
		port     int32
	}
	ports, nodePorts := map[use]bool{}, map[use]bool{}
	return append(unique(path, spec.Ports, "name", func(p *corev1.ServicePort) string { return p.Name }),
		each(path, spec.Ports, func(at *field.Path, p *corev1.ServicePort) field.ErrorList {
			errs := servicePort(at, p, len(spec.Ports) > 1)
			if key := (use{p.Protocol, p.Port}); ports[key] {
				errs = append(errs, field.Duplicate(at, fmt.Sprintf("%d/%s", p.Port, p.Protocol)))
			} else {
				ports[key] = true
			}
			if p.NodePort == 0 {
				return errs
			}
			if spec.Type == corev1.ServiceTypeClusterIP {
				errs = append(errs, field.Forbidden(at.Child("nodePort"), onlyFor(corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer)))
			}
			if key := (use{p.Protocol, p.NodePort}); nodePorts[key] {
				errs = append(errs, field.Duplicate(at.Child("nodePort"), p.NodePort))
			} else {
				nodePorts[key] = true
			}
			return errs
		})...)
}

func servicePort(path *field.Path, p *corev1.ServicePort, named bool) field.ErrorList {
	errs := join(
		when(named || p.Name != "", func() field.ErrorList { return dnsLabel(path.Child("name"), p.Name) }),
		between(path.Child("port"), int64(p.Port), 1, 65535),
		oneOf(path.Child("protocol"), p.Protocol, corev1.ProtocolSCTP, corev1.ProtocolTCP, corev1.ProtocolUDP),
		when(p.AppProtocol != nil, func() field.ErrorList {
			return form(path.Child("appProtocol"), *p.AppProtocol, validation.IsQualifiedName)
		}),
	)
	at := path.Child("targetPort")
	if p.TargetPort.Type == intstr.Int {
		return append(errs, between(at, int64(p.TargetPort.IntVal), 1, 65535)...)
	}
	return append(errs, form(at, p.TargetPort.StrVal, validation.IsValidPortName)...)
}

func sessionAffinity(path *field.Path, spec *corev1.ServiceSpec) field.ErrorList {
	errs := oneOf(path.Child("sessionAffinity"), spec.SessionAffinity, corev1.ServiceAffinityClientIP, corev1.ServiceAffinityNone)
	config := spec.SessionAffinityConfig
	if spec.SessionAffinity != corev1.ServiceAffinityClientIP || config == nil || config.ClientIP == nil || config.ClientIP.TimeoutSeconds == nil {
		return errs
	}
	return append(errs, between(path.Child("sessionAffinityConfig", "clientIP", "timeoutSeconds"), int64(*config.ClientIP.TimeoutSeconds), 1, 86400)...)
}

// clusterIPs must be addresses, and say the same as clusterIP.
func clusterIPs(path *field.Path, spec *corev1.ServiceSpec) field.ErrorList {
	at := path.Child("clusterIPs")
	var errs field.ErrorList
	if headless(spec) && (spec.Type == corev1.ServiceTypeNodePort || spec.Type == corev1.ServiceTypeLoadBalancer) {
		errs = append(errs, field.Invalid(at.Index(0), corev1.ClusterIPNone, onlyFor(corev1.ServiceTypeClusterIP)))
	}
	if len(spec.ClusterIPs) > 0 && spec.ClusterIPs[0] != spec.ClusterIP {
		errs = append(errs, field.Invalid(at, spec.ClusterIPs, "the first must be the same as `clusterIP`"))
	}
	return append(errs, join(
		addresses(at, spec),
		each(path.Child("ipFamilies"), spec.IPFamilies, func(at *field.Path, family *corev1.IPFamily) field.ErrorList {
			return oneOf(at, *family, corev1.IPv4Protocol, corev1.IPv6Protocol)
		}),
		optionalOneOf(path.Child("ipFamilyPolicy"), spec.IPFamilyPolicy,
			corev1.IPFamilyPolicyPreferDualStack, corev1.IPFamilyPolicyRequireDualStack, corev1.IPFamilyPolicySingleStack),
	)...)
}

// addresses checks the cluster IPs of a Service that has some.
func addresses(path *field.Path, spec *corev1.ServiceSpec) field.ErrorList {
	if headless(spec) {
		return atMost(path, len(spec.ClusterIPs), 1)
	}
	return append(atMost(path, len(spec.ClusterIPs), 2), each(path, spec.ClusterIPs, func(at *field.Path, ip *string) field.ErrorList {
		return validation.IsValidIPForLegacyField(at, *ip, false, nil)
	})...)
}

func externalName(path *field.Path, spec *corev1.ServiceSpec) field.ErrorList {
	if spec.Type != corev1.ServiceTypeExternalName {
		return nil
	}
	return append(form(path.Child("externalName"), strings.TrimSuffix(spec.ExternalName, "."), validation.IsDNS1123Subdomain),
		forbidden(path, "may not be set where `type` is ExternalName",
			member{"clusterIPs", len(spec.ClusterIPs) > 0}, member{"ipFamilies", len(spec.IPFamilies) > 0}, member{"ipFamilyPolicy", spec.IPFamilyPolicy != nil})...)
}

// outside is how a Service is reached from outside of the cluster.
func outside(path *field.Path, spec *corev1.ServiceSpec) field.ErrorList {
	balanced := spec.Type == corev1.ServiceTypeLoadBalancer
	errs := each(path.Child("externalIPs"), spec.ExternalIPs, func(at *field.Path, ip *string) field.ErrorList {
		return validation.IsValidIPForLegacyField(at, *ip, false, nil)
	})
	errs = append(errs, each(path.Child("LoadBalancerSourceRanges"), spec.LoadBalancerSourceRanges, func(at *field.Path, cidr *string) field.ErrorList {
		return validation.IsValidCIDRForLegacyField(at, strings.TrimSpace(*cidr), false, nil)
	})...)
	if !balanced {
		errs = append(errs, forbidden(path, onlyFor(corev1.ServiceTypeLoadBalancer),
			member{"LoadBalancerSourceRanges", len(spec.LoadBalancerSourceRanges) > 0},
			member{"allocateLoadBalancerNodePorts", spec.AllocateLoadBalancerNodePorts != nil},
			member{"loadBalancerClass", spec.LoadBalancerClass != nil})...)
	}
	if spec.LoadBalancerClass != nil {
		errs = append(errs, form(path.Child("loadBalancerClass"), *spec.LoadBalancerClass, validation.IsQualifiedName)...)
	}
	return errs
}

func traffic(path *field.Path, spec *corev1.ServiceSpec) field.ErrorList {
	var errs field.ErrorList
	reachable := spec.Type == corev1.ServiceTypeLoadBalancer || spec.Type == corev1.ServiceTypeNodePort ||
		spec.Type == corev1.ServiceTypeClusterIP && len(spec.ExternalIPs) > 0
	at := path.Child("externalTrafficPolicy")
	switch policy := spec.ExternalTrafficPolicy; {
	case reachable:
		errs = oneOf(at, policy, corev1.ServiceExternalTrafficPolicyCluster, corev1.ServiceExternalTrafficPolicyLocal)
	case policy != "":
		errs = one(field.Invalid(at, policy, "may only be set for what is reached from outside"))
	}
	inside := reachable || spec.Type == corev1.ServiceTypeClusterIP
	if inside || spec.InternalTrafficPolicy != nil {
		errs = append(errs, oneOf(path.Child("internalTrafficPolicy"), ptr.Deref(spec.InternalTrafficPolicy, ""),
			corev1.ServiceInternalTrafficPolicyCluster, corev1.ServiceInternalTrafficPolicyLocal)...)
	}
	known := []string{corev1.ServiceTrafficDistributionPreferClose, corev1.ServiceTrafficDistributionPreferSameNode, corev1.ServiceTrafficDistributionPreferSameZone}
	if d := spec.TrafficDistribution; d != nil && !slices.Contains(known, *d) {
		errs = append(errs, field.NotSupported(path.Child("trafficDistribution"), *d, known))
	}
	return errs
}
