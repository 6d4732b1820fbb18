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
	netutils "k8s.io/utils/net"
	"k8s.io/utils/ptr"
)

// ValidateService checks a new Service. Which addresses and node ports are free is not checked
// here.
func ValidateService(s *corev1.Service) field.ErrorList {
	return append(metadata(&s.ObjectMeta, namespaced, apivalidation.NameIsDNSLabel), service(s, &corev1.Service{})...)
}

// ValidateServiceUpdate checks a change of a Service. The first address and its family are
// immutable while the type has one.
func ValidateServiceUpdate(s, old *corev1.Service) field.ErrorList {
	return append(metadataUpdate(&s.ObjectMeta, &old.ObjectMeta), ServiceErrors(s, old)...)
}

// ServiceErrors checks everything but the metadata; old is nil for a new Service.
func ServiceErrors(s, old *corev1.Service) field.ErrorList {
	if old == nil {
		return service(s, &corev1.Service{})
	}
	path := field.NewPath("spec")
	return join(
		service(s, old),
		loadBalancerUpdate(path, &s.Spec, &old.Spec),
		addressesUpdate(path, &s.Spec, &old.Spec),
	)
}

// loadBalancerUpdate checks that the class of the load balancer and the port of its health checks
// are unchanged while the Service has them.
func loadBalancerUpdate(path *field.Path, now, old *corev1.ServiceSpec) field.ErrorList {
	var errs field.ErrorList
	if balanced := corev1.ServiceTypeLoadBalancer; now.Type == balanced && old.Type == balanced &&
		!ptr.Equal(now.LoadBalancerClass, old.LoadBalancerClass) {
		errs = append(errs, field.Invalid(path.Child("loadBalancerClass"), now.LoadBalancerClass, "may not change once set"))
	}
	if needsHealthCheck(now) && needsHealthCheck(old) && now.HealthCheckNodePort != old.HealthCheckNodePort {
		errs = append(errs, field.Forbidden(path.Child("healthCheckNodePort"), immutable))
	}
	return errs
}

// addressesUpdate checks that the first address and its family are unchanged while the type has
// one, and that the policy fits where the second is taken away.
func addressesUpdate(path *field.Path, now, old *corev1.ServiceSpec) field.ErrorList {
	external := corev1.ServiceTypeExternalName
	if now.Type == external || old.Type == external || headless(now) && headless(old) {
		return nil
	}
	errs := keptInOrder(path.Child("clusterIPs"), now.ClusterIPs, old.ClusterIPs)
	same := headless(now) == headless(old)
	if same && len(now.IPFamilies) > 0 {
		errs = append(errs, keptInOrder(path.Child("ipFamilies"), now.IPFamilies, old.IPFamilies)...)
	}
	released := losesSecond(now.ClusterIPs, old.ClusterIPs) || same && losesSecond(now.IPFamilies, old.IPFamilies)
	single := ptr.Deref(now.IPFamilyPolicy, "") == corev1.IPFamilyPolicySingleStack
	return append(errs, check(single || !released, path.Child("ipFamilyPolicy"), now.IPFamilyPolicy,
		"must be SingleStack where the second address or family is taken away")...)
}

// losesSecond reports whether only the first of several values is left.
func losesSecond[T any](now, old []T) bool { return len(now) == 1 && len(old) > 1 }

// keptInOrder checks that a list keeps its first value, and all values if its length is unchanged.
func keptInOrder[T comparable](path *field.Path, values, old []T) field.ErrorList {
	if len(old) == 0 {
		return nil
	}
	if len(values) == 0 {
		return errorList(field.Invalid(path.Index(0), values, "the first cannot be taken away"))
	}
	var errs field.ErrorList
	for i := range old {
		if (i == 0 || len(values) == len(old)) && values[i] != old[i] {
			errs = append(errs, field.Invalid(path.Index(i), values[i], "may not change once set"))
		}
	}
	return errs
}

// ValidateServiceStatusUpdate checks the status that a load balancer reports.
func ValidateServiceStatusUpdate(s, old *corev1.Service) field.ErrorList {
	path := field.NewPath("status", "loadBalancer", "ingress")
	errs := metadataUpdate(&s.ObjectMeta, &old.ObjectMeta)
	if len(s.Status.LoadBalancer.Ingress) > 0 && s.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return append(errs, field.Forbidden(path, onlyFor(corev1.ServiceTypeLoadBalancer)))
	}
	var known []string
	for _, in := range old.Status.LoadBalancer.Ingress {
		known = append(known, in.IP)
	}
	return append(
		errs,
		each(path, s.Status.LoadBalancer.Ingress, func(at *field.Path, in *corev1.LoadBalancerIngress) field.ErrorList {
			return ingress(at, in, known)
		})...)
}

// ingress checks an address of a load balancer. One that was stored already may have an old form.
func ingress(path *field.Path, in *corev1.LoadBalancerIngress, known []string) field.ErrorList {
	mode := path.Child("ipMode")
	errs := optionalForm(path.Child("hostname"), in.Hostname, validation.IsDNS1123Subdomain)
	if netutils.ParseIPSloppy(in.Hostname) != nil {
		errs = append(errs, field.Invalid(path.Child("hostname"), in.Hostname, "must be a DNS name, not an IP address"))
	}
	if in.IP == "" {
		return append(errs, forbidden(path, "may only be set where `ip` is", member{"ipMode", in.IPMode != nil})...)
	}
	errs = append(errs, validation.IsValidIPForLegacyField(path.Child("ip"), in.IP, true, known)...)
	if in.IPMode == nil {
		return append(errs, field.Required(mode, ""))
	}
	return append(errs, supported(mode, *in.IPMode, corev1.LoadBalancerIPModeProxy, corev1.LoadBalancerIPModeVIP)...)
}

func onlyFor(types ...corev1.ServiceType) string {
	return "may only be set where `type` is " + strings.Trim(strings.ReplaceAll(fmt.Sprint(types), " ", " or "), "[]")
}

// service checks what a Service says. Addresses that old has already may have an old form.
func service(s, old *corev1.Service) field.ErrorList {
	path, spec := field.NewPath("spec"), &s.Spec
	return join(
		topologyAnnotations(s.Annotations),
		oneOf(
			path.Child("type"),
			spec.Type,
			corev1.ServiceTypeClusterIP,
			corev1.ServiceTypeExternalName,
			corev1.ServiceTypeLoadBalancer,
			corev1.ServiceTypeNodePort,
		),
		servicePorts(path.Child("ports"), spec),
		metav1validation.ValidateLabels(spec.Selector, path.Child("selector")),
		sessionAffinity(path, spec),
		clusterIPs(path, spec, old.Spec.ClusterIPs),
		externalName(path, spec),
		externalIPs(path.Child("externalIPs"), spec.ExternalIPs, old.Spec.ExternalIPs),
		loadBalancer(path, spec),
		sourceRanges(path.Child("LoadBalancerSourceRanges"), s, old),
		traffic(path, spec),
		healthCheckPort(path.Child("healthCheckNodePort"), spec),
	)
}

// topologyAnnotations checks that the two names of one annotation have the same value.
func topologyAnnotations(annotations map[string]string) field.ErrorList {
	hints, older := annotations[corev1.DeprecatedAnnotationTopologyAwareHints]
	mode, newer := annotations[corev1.AnnotationTopologyMode]
	return check(
		!older || !newer || hints == mode,
		field.NewPath("metadata", "annotations").Key(corev1.AnnotationTopologyMode),
		mode,
		"must be the same as "+corev1.DeprecatedAnnotationTopologyAwareHints,
	)
}

func headless(spec *corev1.ServiceSpec) bool {
	return len(spec.ClusterIPs) == 1 && spec.ClusterIPs[0] == corev1.ClusterIPNone
}

func servicePorts(path *field.Path, spec *corev1.ServiceSpec) field.ErrorList {
	if len(spec.Ports) == 0 && !headless(spec) && spec.Type != corev1.ServiceTypeExternalName {
		return errorList(field.Required(path, ""))
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
				errs = append(errs,
					field.Forbidden(at.Child("nodePort"), onlyFor(corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer)))
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
		appProtocol(path, p.AppProtocol),
	)
	at := path.Child("targetPort")
	if p.TargetPort.Type == intstr.Int {
		return append(errs, between(at, int64(p.TargetPort.IntVal), 1, 65535)...)
	}
	return append(errs, requiredForm(at, p.TargetPort.StrVal, validation.IsValidPortName)...)
}

func sessionAffinity(path *field.Path, spec *corev1.ServiceSpec) field.ErrorList {
	errs := oneOf(path.Child("sessionAffinity"), spec.SessionAffinity, corev1.ServiceAffinityClientIP,
		corev1.ServiceAffinityNone)
	config := spec.SessionAffinityConfig // set by defaults for ClientIP, and for nothing else
	if spec.SessionAffinity != corev1.ServiceAffinityClientIP || config == nil || config.ClientIP == nil ||
		config.ClientIP.TimeoutSeconds == nil {
		return errs
	}
	return append(
		errs,
		between(path.Child("sessionAffinityConfig", "clientIP", "timeoutSeconds"), int64(*config.ClientIP.TimeoutSeconds), 1,
			86400)...)
}

// clusterIPs checks that the values are addresses, and that the first equals clusterIP.
func clusterIPs(path *field.Path, spec *corev1.ServiceSpec, known []string) field.ErrorList {
	at := path.Child("clusterIPs")
	if spec.Type == corev1.ServiceTypeExternalName {
		return nil
	}
	var errs field.ErrorList
	if headless(spec) && (spec.Type == corev1.ServiceTypeNodePort || spec.Type == corev1.ServiceTypeLoadBalancer) {
		errs = append(errs, field.Invalid(at.Index(0), corev1.ClusterIPNone, onlyFor(corev1.ServiceTypeClusterIP)))
	}
	switch {
	case spec.ClusterIP != "" && len(spec.ClusterIPs) == 0:
		errs = append(errs, field.Required(at, ""))
	case spec.ClusterIP == "" && len(spec.ClusterIPs) > 0:
		errs = append(errs, field.Invalid(at, spec.ClusterIPs, "must be empty where `clusterIP` is"))
	case len(spec.ClusterIPs) > 0 && spec.ClusterIPs[0] != spec.ClusterIP:
		errs = append(errs, field.Invalid(at, spec.ClusterIPs, "the first must be the same as `clusterIP`"))
	}
	families := path.Child("ipFamilies")
	return join(errs,
		addresses(at, spec, known),
		each(families, spec.IPFamilies, func(at *field.Path, family *corev1.IPFamily) field.ErrorList {
			return supported(at, *family, corev1.IPv4Protocol, corev1.IPv6Protocol)
		}),
		distinct(families, spec.IPFamilies, "", func(family *corev1.IPFamily) corev1.IPFamily { return *family }),
		optionalSupported(path.Child("ipFamilyPolicy"), spec.IPFamilyPolicy,
			corev1.IPFamilyPolicyPreferDualStack, corev1.IPFamilyPolicyRequireDualStack, corev1.IPFamilyPolicySingleStack),
	)
}

// addresses checks the cluster IPs of a Service: at most one of each family, and of the requested
// family.
func addresses(path *field.Path, spec *corev1.ServiceSpec, known []string) field.ErrorList {
	if headless(spec) {
		return nil
	}
	var errs field.ErrorList
	for i, ip := range spec.ClusterIPs {
		if i == 0 && ip == corev1.ClusterIPNone {
			errs = append(errs, field.Invalid(path, spec.ClusterIPs, "None must be the only value"))
			continue
		}
		errs = append(errs, validation.IsValidIPForLegacyField(path.Index(i), ip, true, known)...)
	}
	bad := len(errs) > 0
	if len(spec.ClusterIPs) > 2 {
		errs = append(errs, field.Invalid(path, spec.ClusterIPs, "must have at most 2 items"))
	}
	if bad {
		return errs
	}
	if two, _ := netutils.IsDualStackIPStrings(spec.ClusterIPs); len(spec.ClusterIPs) > 1 && !two {
		errs = append(errs, field.Invalid(path, spec.ClusterIPs, "must have at most one address of each family"))
	}
	for i := range min(len(spec.ClusterIPs), len(spec.IPFamilies)) {
		ip, family := spec.ClusterIPs[i], spec.IPFamilies[i]
		if is6 := netutils.IsIPv6String(ip); is6 && family == corev1.IPv4Protocol || !is6 && family == corev1.IPv6Protocol {
			errs = append(errs, field.Invalid(path.Index(i), ip, "must be of the family that `ipFamilies` has there"))
		}
	}
	return errs
}

func externalName(path *field.Path, spec *corev1.ServiceSpec) field.ErrorList {
	if spec.Type != corev1.ServiceTypeExternalName {
		return nil
	}
	return append(
		requiredForm(path.Child("externalName"), strings.TrimSuffix(spec.ExternalName, "."), validation.IsDNS1123Subdomain),
		forbidden(
			path,
			"may not be set where `type` is ExternalName",
			member{
				"clusterIPs",
				len(spec.ClusterIPs) > 0,
			},
			member{"ipFamilies", len(spec.IPFamilies) > 0},
			member{"ipFamilyPolicy", spec.IPFamilyPolicy != nil},
		)...)
}

// externalIPs checks addresses from outside, which are none of this host or of the local link.
func externalIPs(path *field.Path, values, known []string) field.ErrorList {
	return each(path, values, func(at *field.Path, value *string) field.ErrorList {
		if errs := validation.IsValidIPForLegacyField(at, *value, true, known); len(errs) > 0 {
			return errs
		}
		ip := netutils.ParseIPSloppy(*value)
		return join(
			check(!ip.IsUnspecified(), at, *value, "may not be unspecified"),
			check(!ip.IsLoopback(), at, *value, "may not be a loopback address"),
			check(!ip.IsLinkLocalUnicast() && !ip.IsLinkLocalMulticast(), at, *value, "may not be link-local"),
		)
	})
}

// loadBalancer checks what only Services with a load balancer have.
func loadBalancer(path *field.Path, spec *corev1.ServiceSpec) field.ErrorList {
	if spec.Type != corev1.ServiceTypeLoadBalancer {
		return forbidden(path, onlyFor(corev1.ServiceTypeLoadBalancer),
			member{"allocateLoadBalancerNodePorts", spec.AllocateLoadBalancerNodePorts != nil},
			member{"loadBalancerClass", spec.LoadBalancerClass != nil})
	}
	if spec.LoadBalancerClass == nil {
		return nil
	}
	return wellFormed(path.Child("loadBalancerClass"), *spec.LoadBalancerClass, validation.IsQualifiedName)
}

// sourceRanges checks from where a load balancer may be reached: by the field, or by the annotation
// that is older.
func sourceRanges(path *field.Path, s, old *corev1.Service) field.ErrorList {
	ranges, known := s.Spec.LoadBalancerSourceRanges, spaceTrimmed(old.Spec.LoadBalancerSourceRanges)
	annotation, annotated := s.Annotations[corev1.AnnotationLoadBalancerSourceRangesKey]
	before, had := old.Annotations[corev1.AnnotationLoadBalancerSourceRangesKey]
	at := path.Index
	switch {
	case len(ranges) > 0:
	case !annotated:
		return nil
	default:
		path = field.NewPath("metadata", "annotations").Key(corev1.AnnotationLoadBalancerSourceRangesKey)
		at = func(int) *field.Path { return path }
		if had && before == annotation || strings.TrimSpace(annotation) == "" {
			break
		}
		ranges, known = strings.Split(annotation, ","), nil
	}
	var errs field.ErrorList
	if s.Spec.Type != corev1.ServiceTypeLoadBalancer {
		errs = append(errs, field.Forbidden(path, onlyFor(corev1.ServiceTypeLoadBalancer)))
	}
	for i, cidr := range spaceTrimmed(ranges) {
		errs = append(errs, validation.IsValidCIDRForLegacyField(at(i), cidr, true, known)...)
	}
	return errs
}

func spaceTrimmed(list []string) []string {
	out := make([]string, len(list))
	for i := range list {
		out[i] = strings.TrimSpace(list[i])
	}
	return out
}

func needsHealthCheck(spec *corev1.ServiceSpec) bool {
	return spec.Type == corev1.ServiceTypeLoadBalancer &&
		spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
}

// healthCheckPort checks a port that the client gives. None is allocated where there is none.
func healthCheckPort(path *field.Path, spec *corev1.ServiceSpec) field.ErrorList {
	port := spec.HealthCheckNodePort
	switch {
	case port == 0:
		return nil
	case needsHealthCheck(spec):
		return between(path, int64(port), 1, 65535)
	}
	return errorList(
		field.Invalid(path, port, "may only be set where `type` is LoadBalancer and `externalTrafficPolicy` is Local"),
	)
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
		errs = errorList(field.Invalid(at, policy, "may only be set for a Service that is reached from outside"))
	}
	errs = append(errs, optionalSupported(path.Child("internalTrafficPolicy"), spec.InternalTrafficPolicy,
		corev1.ServiceInternalTrafficPolicyCluster, corev1.ServiceInternalTrafficPolicyLocal)...)
	known := []string{
		corev1.ServiceTrafficDistributionPreferClose,
		corev1.ServiceTrafficDistributionPreferSameNode,
		corev1.ServiceTrafficDistributionPreferSameZone,
	}
	if d := spec.TrafficDistribution; d != nil && !slices.Contains(known, *d) {
		errs = append(errs, field.NotSupported(path.Child("trafficDistribution"), *d, known))
	}
	return errs
}
