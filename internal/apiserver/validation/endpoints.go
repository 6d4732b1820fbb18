package validation

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"
)

const (
	maxEndpoints         = 1000
	maxEndpointAddresses = 100
	maxEndpointPorts     = 20000
	maxEndpointHints     = 8
	maxTopologyLabels    = 16
	// endpointsController is the name of the controller whose addresses need no warnings.
	endpointsController = "endpoint-controller"
)

// Endpoints, their addresses and ports are deprecated, and Kubernetes 1.37 serves them.
type (
	legacyEndpoints = corev1.Endpoints       //nolint:staticcheck // as the comment says
	legacyAddress   = corev1.EndpointAddress //nolint:staticcheck // as the comment says
	legacyPort      = corev1.EndpointPort
)

// ValidateEndpoints checks new Endpoints.
func ValidateEndpoints(e *legacyEndpoints) field.ErrorList {
	return append(metadata(&e.ObjectMeta, namespaced, apivalidation.NameIsDNSSubdomain), subsets(e)...)
}

// ValidateEndpointsUpdate checks a change of Endpoints. Addresses that are unchanged may be
// invalid.
func ValidateEndpointsUpdate(e, old *legacyEndpoints) field.ErrorList {
	errs := append(metadataUpdate(&e.ObjectMeta, &old.ObjectMeta),
		metadata(&e.ObjectMeta, namespaced, apivalidation.NameIsDNSSubdomain)...)
	if apiequality.Semantic.DeepEqual(e.Subsets, old.Subsets) {
		return errs
	}
	return append(errs, subsets(e)...)
}

func subsets(e *legacyEndpoints) field.ErrorList {
	var errs field.ErrorList
	for i := range e.Subsets {
		s, path := &e.Subsets[i], field.NewPath("subsets").Index(i)
		if len(s.Addresses) == 0 && len(s.NotReadyAddresses) == 0 {
			errs = append(errs, field.Required(path, "must specify `addresses` or `notReadyAddresses`"))
		}
		errs = join(errs,
			each(path.Child("addresses"), s.Addresses, endpointAddress),
			each(path.Child("notReadyAddresses"), s.NotReadyAddresses, endpointAddress),
			each(path.Child("ports"), s.Ports, func(at *field.Path, p *legacyPort) field.ErrorList {
				return legacyEndpointPort(at, p, len(s.Ports) > 1)
			}),
		)
	}
	return errs
}

func legacyEndpointPort(path *field.Path, p *legacyPort, named bool) field.ErrorList {
	return join(
		when(named || p.Name != "", func() field.ErrorList { return namedPort(path.Child("name"), p.Name) }),
		between(path.Child("port"), int64(p.Port), 1, 65535),
		oneOf(path.Child("protocol"), p.Protocol, corev1.ProtocolSCTP, corev1.ProtocolTCP, corev1.ProtocolUDP),
		appProtocol(path, p.AppProtocol),
	)
}

func namedPort(path *field.Path, name string) field.ErrorList {
	if name == "" {
		return errorList(field.Required(path, ""))
	}
	return dnsLabel(path, name)
}

func appProtocol(path *field.Path, protocol *string) field.ErrorList {
	return when(protocol != nil, func() field.ErrorList {
		return wellFormed(path.Child("appProtocol"), *protocol, validation.IsQualifiedName)
	})
}

func endpointAddress(path *field.Path, a *legacyAddress) field.ErrorList {
	return join(
		validation.IsValidIPForLegacyField(path.Child("ip"), a.IP, true, nil),
		optionalForm(path.Child("hostname"), a.Hostname, validation.IsDNS1123Label),
		pointerForm(path.Child("nodeName"), a.NodeName, isSubdomain),
		endpointIP(path.Child("ip"), a.IP),
	)
}

// endpointIP checks that an address is none of the host or of the local link.
func endpointIP(path *field.Path, value string) field.ErrorList {
	ip := netutils.ParseIPSloppy(value)
	if ip == nil {
		return errorList(field.Invalid(path, value, "must be a valid IP address"))
	}
	return join(
		check(!ip.IsUnspecified(), path, value, fmt.Sprintf("may not be unspecified (%s)", value)),
		check(!ip.IsLoopback(), path, value, "may not be in the loopback range (127.0.0.0/8, ::1/128)"),
		check(!ip.IsLinkLocalUnicast(), path, value, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"),
		check(!ip.IsLinkLocalMulticast(), path, value,
			"may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"),
	)
}

// EndpointsWarnings returns warnings about addresses of unusual form.
func EndpointsWarnings(e, _ *legacyEndpoints) []string {
	if e.Labels["endpoints.kubernetes.io/managed-by"] == endpointsController {
		return nil
	}
	var out []string
	for i, s := range e.Subsets {
		path := field.NewPath("subsets").Index(i)
		for j, a := range s.Addresses {
			out = append(out, validation.GetWarningsForIP(path.Child("addresses").Index(j).Child("ip"), a.IP)...)
		}
		for j, a := range s.NotReadyAddresses {
			out = append(out, validation.GetWarningsForIP(path.Child("notReadyAddresses").Index(j).Child("ip"), a.IP)...)
		}
	}
	return out
}

// ValidateEndpointSlice checks a new EndpointSlice.
func ValidateEndpointSlice(s *discoveryv1.EndpointSlice) field.ErrorList {
	return join(
		metadata(&s.ObjectMeta, namespaced, apivalidation.NameIsDNSSubdomain),
		oneOf(field.NewPath("addressType"), s.AddressType,
			discoveryv1.AddressTypeFQDN, discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6),
		slicePorts(field.NewPath("ports"), s.Ports),
		sliceEndpoints(field.NewPath("endpoints"), s),
	)
}

// ValidateEndpointSliceUpdate checks a change of an EndpointSlice. Endpoints that are unchanged may
// be invalid.
func ValidateEndpointSliceUpdate(s, old *discoveryv1.EndpointSlice) field.ErrorList {
	errs := join(
		metadata(&s.ObjectMeta, namespaced, apivalidation.NameIsDNSSubdomain),
		oneOf(field.NewPath("addressType"), s.AddressType,
			discoveryv1.AddressTypeFQDN, discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6),
		slicePorts(field.NewPath("ports"), s.Ports),
	)
	if !apiequality.Semantic.DeepEqual(s.Endpoints, old.Endpoints) {
		errs = append(errs, sliceEndpoints(field.NewPath("endpoints"), s)...)
	}
	return append(errs, immutableField(field.NewPath("addressType"), s.AddressType, old.AddressType)...)
}

func slicePorts(path *field.Path, ports []discoveryv1.EndpointPort) field.ErrorList {
	if len(ports) > maxEndpointPorts {
		return errorList(field.TooMany(path, len(ports), maxEndpointPorts))
	}
	names := map[string]bool{}
	return each(path, ports, func(at *field.Path, p *discoveryv1.EndpointPort) field.ErrorList {
		var errs field.ErrorList
		if p.Name != nil { // set by defaults
			errs = optionalForm(at.Child("name"), *p.Name, validation.IsDNS1123Label)
			if names[*p.Name] {
				errs = append(errs, field.Duplicate(at.Child("name"), *p.Name))
			}
			names[*p.Name] = true
		}
		if p.Protocol == nil {
			errs = append(errs, field.Required(at.Child("protocol"), ""))
		} else {
			errs = append(errs, supported(at.Child("protocol"), *p.Protocol, corev1.ProtocolSCTP, corev1.ProtocolTCP,
				corev1.ProtocolUDP)...)
		}
		return append(errs, appProtocol(at, p.AppProtocol)...)
	})
}

func sliceEndpoints(path *field.Path, s *discoveryv1.EndpointSlice) field.ErrorList {
	if len(s.Endpoints) > maxEndpoints {
		return errorList(field.TooMany(path, len(s.Endpoints), maxEndpoints))
	}
	return each(path, s.Endpoints, func(at *field.Path, e *discoveryv1.Endpoint) field.ErrorList {
		errs := sliceAddresses(at.Child("addresses"), s.AddressType, e.Addresses)
		topology := at.Child("deprecatedTopology")
		errs = append(errs, pointerForm(at.Child("nodeName"), e.NodeName, isSubdomain)...)
		if len(e.DeprecatedTopology) > maxTopologyLabels {
			errs = append(errs, field.TooMany(topology, len(e.DeprecatedTopology), maxTopologyLabels))
		}
		errs = append(errs, metav1validation.ValidateLabels(e.DeprecatedTopology, topology)...)
		errs = append(errs, pointerForm(at.Child("hostname"), e.Hostname, validation.IsDNS1123Label)...)
		return append(errs, endpointHints(at.Child("hints"), e.Hints)...)
	})
}

func sliceAddresses(path *field.Path, kind discoveryv1.AddressType, addresses []string) field.ErrorList {
	var errs field.ErrorList
	if len(addresses) == 0 {
		return errorList(field.Required(path, "must contain at least 1 address"))
	}
	if len(addresses) > maxEndpointAddresses {
		errs = append(errs, field.TooMany(path, len(addresses), maxEndpointAddresses))
	}
	for i, address := range addresses {
		at := path.Index(i)
		switch kind {
		case discoveryv1.AddressTypeIPv4:
			errs = append(errs, sliceIP(path, at, address, netutils.IsIPv4String, "must be an IPv4 address",
				validation.IsValidIPForLegacyField(at, address, true, nil))...)
		case discoveryv1.AddressTypeIPv6:
			errs = append(errs, sliceIP(path, at, address, netutils.IsIPv6String, "must be an IPv6 address",
				validation.IsValidIP(at, address))...)
		case discoveryv1.AddressTypeFQDN:
			errs = append(errs, validation.IsFullyQualifiedDomainName(at, address)...)
		}
	}
	return errs
}

// sliceIP checks an address of a family. Kubernetes reports a wrong family for the list.
func sliceIP(
	list, at *field.Path, value string, family func(string) bool, message string, faults field.ErrorList,
) field.ErrorList {
	if len(faults) > 0 {
		return faults
	}
	return append(check(family(value), list, value, message), endpointIP(at, value)...)
}

func endpointHints(path *field.Path, hints *discoveryv1.EndpointHints) field.ErrorList {
	if hints == nil {
		return nil
	}
	zones, nodes := path.Child("forZones"), path.Child("forNodes")
	if len(hints.ForZones) > maxEndpointHints {
		return errorList(field.TooMany(zones, len(hints.ForZones), maxEndpointHints))
	}
	errs := hintNames(zones, hints.ForZones, func(z *discoveryv1.ForZone) string { return z.Name },
		validation.IsValidLabelValue)
	if len(hints.ForNodes) > maxEndpointHints {
		return append(errs, field.TooMany(nodes, len(hints.ForNodes), maxEndpointHints))
	}
	return append(errs, hintNames(nodes, hints.ForNodes, func(n *discoveryv1.ForNode) string { return n.Name },
		isSubdomain)...)
}

func hintNames[T any](path *field.Path, hints []T, name func(*T) string, rule func(string) []string) field.ErrorList {
	seen := map[string]bool{}
	return each(path, hints, func(at *field.Path, h *T) field.ErrorList {
		var errs field.ErrorList
		if seen[name(h)] {
			errs = append(errs, field.Duplicate(at.Child("name"), name(h)))
		}
		seen[name(h)] = true
		return append(errs, wellFormed(at.Child("name"), name(h), rule)...)
	})
}

// EndpointSliceWarnings returns warnings about addresses of unusual form, and about names as
// addresses in a new EndpointSlice.
func EndpointSliceWarnings(s, old *discoveryv1.EndpointSlice) []string {
	var out []string
	if old == nil && s.AddressType == discoveryv1.AddressTypeFQDN {
		out = append(out, "spec.addressType: FQDN endpoints are deprecated")
	}
	switch s.Labels[discoveryv1.LabelManagedBy] {
	case "endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io":
		return out
	}
	for i, e := range s.Endpoints {
		for j, address := range e.Addresses {
			path := field.NewPath("endpoints").Index(i).Child("addresses").Index(j)
			out = append(out, validation.GetWarningsForIP(path, address)...)
		}
	}
	return out
}
