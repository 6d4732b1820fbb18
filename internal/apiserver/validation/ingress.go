package validation

import (
	"fmt"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"
)

// ingressClassAnnotation is the older form of spec.ingressClassName.
const ingressClassAnnotation = "kubernetes.io/ingress.class"

// ingressRules checks the spec of an Ingress.
type ingressRules struct {
	// anySecret permits invalid names of Secrets, which the stored Ingress has.
	anySecret bool
	// anyWildcard permits invalid paths of hosts with a wildcard, which the stored Ingress has.
	anyWildcard bool
}

// ValidateIngress checks a new Ingress.
func ValidateIngress(i *networkingv1.Ingress) field.ErrorList {
	class, set := i.Annotations[ingressClassAnnotation]
	return join(
		metadata(&i.ObjectMeta, namespaced, apivalidation.NameIsDNSSubdomain),
		ingressRules{}.spec(&i.Spec),
		check(!set || i.Spec.IngressClassName == nil || class == *i.Spec.IngressClassName,
			field.NewPath("annotations").Child(ingressClassAnnotation), class,
			"must match `ingressClassName` when both are specified"),
	)
}

// ValidateIngressUpdate checks a change of an Ingress.
func ValidateIngressUpdate(i, old *networkingv1.Ingress) field.ErrorList {
	var rules ingressRules
	for _, tls := range old.Spec.TLS {
		rules.anySecret = rules.anySecret || len(optionalForm(nil, tls.SecretName, isSubdomain)) > 0
	}
	for j := range old.Spec.Rules {
		r := &old.Spec.Rules[j]
		rules.anyWildcard = rules.anyWildcard || strings.Contains(r.Host, "*") && len(ingressHTTP(nil, r.HTTP)) > 0
	}
	return append(metadataAgain(&i.ObjectMeta, &old.ObjectMeta, apivalidation.NameIsDNSSubdomain),
		rules.spec(&i.Spec)...)
}

// ValidateIngressStatusUpdate checks the reported addresses of an Ingress. Stored addresses may be
// invalid.
func ValidateIngressStatusUpdate(i, old *networkingv1.Ingress) field.ErrorList {
	var known []string
	for _, in := range old.Status.LoadBalancer.Ingress {
		known = append(known, in.IP)
	}
	return append(metadataUpdate(&i.ObjectMeta, &old.ObjectMeta),
		each(field.NewPath("status", "loadBalancer", "ingress"), i.Status.LoadBalancer.Ingress,
			func(at *field.Path, in *networkingv1.IngressLoadBalancerIngress) field.ErrorList {
				errs := hostOrNone(at.Child("hostname"), in.Hostname, validation.IsDNS1123Subdomain)
				if in.IP == "" {
					return errs
				}
				return append(errs, validation.IsValidIPForLegacyField(at.Child("ip"), in.IP, true, known)...)
			})...)
}

func isSubdomain(name string) []string { return apivalidation.NameIsDNSSubdomain(name, false) }

func (r ingressRules) spec(spec *networkingv1.IngressSpec) field.ErrorList {
	path := field.NewPath("spec")
	return join(
		check(len(spec.Rules) > 0 || spec.DefaultBackend != nil, path, spec.Rules,
			"either `defaultBackend` or `rules` must be specified"),
		when(spec.DefaultBackend != nil, func() field.ErrorList {
			return ingressBackend(path.Child("defaultBackend"), spec.DefaultBackend)
		}),
		each(path.Child("rules"), spec.Rules, r.rule),
		each(path.Child("tls"), spec.TLS, r.tls),
		pointerForm(path.Child("ingressClassName"), spec.IngressClassName, isSubdomain),
	)
}

func (r ingressRules) tls(path *field.Path, tls *networkingv1.IngressTLS) field.ErrorList {
	errs := each(path.Child("hosts"), tls.Hosts, func(at *field.Path, host *string) field.ErrorList {
		return wellFormed(at, *host, hostPattern)
	})
	if r.anySecret {
		return errs
	}
	return append(errs, optionalForm(path.Child("secretName"), tls.SecretName, isSubdomain)...)
}

// hostPattern is the rule of a host that may have a wildcard.
func hostPattern(host string) []string {
	if strings.Contains(host, "*") {
		return validation.IsWildcardDNS1123Subdomain(host)
	}
	return validation.IsDNS1123Subdomain(host)
}

// hostOrNone checks a host that may be empty, and is no address.
func hostOrNone(path *field.Path, host string, rule func(string) []string) field.ErrorList {
	return append(check(netutils.ParseIPSloppy(host) == nil, path, host, "must be a DNS name, not an IP address"),
		optionalForm(path, host, rule)...)
}

func (r ingressRules) rule(path *field.Path, rule *networkingv1.IngressRule) field.ErrorList {
	errs := hostOrNone(path.Child("host"), rule.Host, hostPattern)
	if r.anyWildcard && strings.Contains(rule.Host, "*") {
		return errs
	}
	return append(errs, ingressHTTP(path.Child("http"), rule.HTTP)...)
}

func ingressHTTP(path *field.Path, http *networkingv1.HTTPIngressRuleValue) field.ErrorList {
	if http == nil {
		return nil
	}
	if len(http.Paths) == 0 {
		return errorList(field.Required(path.Child("paths"), ""))
	}
	return each(path.Child("paths"), http.Paths, ingressPath)
}

func ingressPath(path *field.Path, p *networkingv1.HTTPIngressPath) field.ErrorList {
	if p.PathType == nil {
		return errorList(field.Required(path.Child("pathType"), "pathType must be specified"))
	}
	var errs field.ErrorList
	switch at := path.Child("path"); *p.PathType {
	case networkingv1.PathTypeExact, networkingv1.PathTypePrefix:
		errs = plainPath(at, p.Path)
	case networkingv1.PathTypeImplementationSpecific:
		errs = check(p.Path == "" || strings.HasPrefix(p.Path, "/"), at, p.Path, notAbsolute)
	default:
		errs = supported(path.Child("pathType"), *p.PathType, networkingv1.PathTypeExact,
			networkingv1.PathTypeImplementationSpecific, networkingv1.PathTypePrefix)
	}
	return append(errs, ingressBackend(path.Child("backend"), &p.Backend)...)
}

const notAbsolute = "must be an absolute path"

// plainPath checks a path that has one form only, so that comparing texts compares paths.
func plainPath(at *field.Path, path string) field.ErrorList {
	errs := check(strings.HasPrefix(path, "/"), at, path, notAbsolute)
	for _, part := range []string{"//", "/./", "/../", "%2f", "%2F"} {
		errs = append(errs, check(!strings.Contains(path, part), at, path, fmt.Sprintf("must not contain '%s'", part))...)
	}
	for _, end := range []string{"/..", "/."} {
		errs = append(errs, check(!strings.HasSuffix(path, end), at, path, fmt.Sprintf("cannot end with '%s'", end))...)
	}
	return errs
}

func ingressBackend(path *field.Path, b *networkingv1.IngressBackend) field.ErrorList {
	switch at := path.Child("resource"); {
	case b.Resource != nil && b.Service != nil:
		return errorList(field.Invalid(path, "", "cannot set both resource and service backends"))
	case b.Resource != nil:
		return join(pointerForm(at.Child("apiGroup"), b.Resource.APIGroup, validation.IsDNS1123Subdomain),
			pathSegment(at.Child("kind"), b.Resource.Kind), pathSegment(at.Child("name"), b.Resource.Name))
	case b.Service == nil:
		return errorList(field.Invalid(path, "", "resource or service backend is required"))
	}
	at, port := path.Child("service"), b.Service.Port
	errs := dnsLabel(at.Child("name"), b.Service.Name)
	switch {
	case port.Name != "" && port.Number != 0:
		return append(errs, field.Invalid(path, "", "cannot set both port name & port number"))
	case port.Name != "":
		return append(errs, requiredForm(at.Child("port", "name"), port.Name, validation.IsValidPortName)...)
	case port.Number != 0:
		return append(errs, between(at.Child("port", "number"), int64(port.Number), 1, 65535)...)
	}
	return append(errs, field.Required(path, "port name or number is required"))
}

// IngressWarnings returns a warning for a new Ingress with the older form of its class.
func IngressWarnings(i, old *networkingv1.Ingress) []string {
	if _, set := i.Annotations[ingressClassAnnotation]; old != nil || !set || i.Spec.IngressClassName != nil {
		return nil
	}
	return []string{fmt.Sprintf("annotation %q is deprecated, please use 'spec.ingressClassName' instead",
		ingressClassAnnotation)}
}
