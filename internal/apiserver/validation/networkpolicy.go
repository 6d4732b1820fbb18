package validation

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"
)

// networkPolicyRules checks the rules of a NetworkPolicy.
type networkPolicyRules struct {
	// known are stored ranges, which may have an old form wherever they are now.
	known []string
	// selectors permits invalid label values if the stored pod selector has one.
	selectors metav1validation.LabelSelectorValidationOptions
}

// ValidateNetworkPolicy checks a new NetworkPolicy.
func ValidateNetworkPolicy(p *networkingv1.NetworkPolicy) field.ErrorList {
	return append(metadata(&p.ObjectMeta, namespaced, apivalidation.NameIsDNSSubdomain),
		networkPolicyRules{}.spec(&p.Spec)...)
}

// ValidateNetworkPolicyUpdate checks a change of a NetworkPolicy.
func ValidateNetworkPolicyUpdate(p, old *networkingv1.NetworkPolicy) field.ErrorList {
	var rules networkPolicyRules
	for _, b := range ipBlocks(old) {
		rules.known = append(append(rules.known, b.block.CIDR), b.block.Except...)
	}
	rules.selectors.AllowInvalidLabelValueInSelector = len(metav1validation.ValidateLabelSelector(&old.Spec.PodSelector,
		metav1validation.LabelSelectorValidationOptions{}, nil)) > 0
	return append(metadataUpdate(&p.ObjectMeta, &old.ObjectMeta), rules.spec(&p.Spec)...)
}

// blockAt is a range of a NetworkPolicy and its path.
type blockAt struct {
	path  *field.Path
	block *networkingv1.IPBlock
}

func ipBlocks(p *networkingv1.NetworkPolicy) []blockAt {
	var out []blockAt
	add := func(path *field.Path, peers []networkingv1.NetworkPolicyPeer) {
		for i := range peers {
			if b := peers[i].IPBlock; b != nil {
				out = append(out, blockAt{path.Index(i).Child("ipBlock"), b})
			}
		}
	}
	for i, r := range p.Spec.Ingress {
		add(field.NewPath("spec", "ingress").Index(i).Child("from"), r.From)
	}
	for i, r := range p.Spec.Egress {
		add(field.NewPath("spec", "egress").Index(i).Child("to"), r.To)
	}
	return out
}

func (r networkPolicyRules) spec(spec *networkingv1.NetworkPolicySpec) field.ErrorList {
	path := field.NewPath("spec")
	errs := join(
		r.selector(path.Child("podSelector"), &spec.PodSelector),
		each(path.Child("ingress"), spec.Ingress,
			func(at *field.Path, rule *networkingv1.NetworkPolicyIngressRule) field.ErrorList {
				return append(each(at.Child("ports"), rule.Ports, networkPolicyPort), each(at.Child("from"), rule.From, r.peer)...)
			}),
		each(path.Child("egress"), spec.Egress,
			func(at *field.Path, rule *networkingv1.NetworkPolicyEgressRule) field.ErrorList {
				return append(each(at.Child("ports"), rule.Ports, networkPolicyPort), each(at.Child("to"), rule.To, r.peer)...)
			}),
	)
	types := path.Child("policyTypes")
	if len(spec.PolicyTypes) > 2 {
		return append(errs, field.Invalid(types, spec.PolicyTypes, "may not specify more than two policyTypes"))
	}
	return append(errs, each(types, spec.PolicyTypes,
		func(at *field.Path, t *networkingv1.PolicyType) field.ErrorList {
			return supported(at, *t, networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress)
		})...)
}

func (r networkPolicyRules) selector(path *field.Path, s *metav1.LabelSelector) field.ErrorList {
	return metav1validation.ValidateLabelSelector(s, r.selectors, path)
}

func networkPolicyPort(path *field.Path, p *networkingv1.NetworkPolicyPort) field.ErrorList {
	errs := optionalSupported(path.Child("protocol"), p.Protocol, corev1.ProtocolTCP, corev1.ProtocolUDP,
		corev1.ProtocolSCTP)
	at, end := path.Child("port"), path.Child("endPort")
	switch {
	case p.EndPort == nil:
	case p.Port == nil:
		errs = append(errs, field.Invalid(end, *p.EndPort, "may not be specified when `port` is not specified"))
	case p.Port.Type == intstr.String:
		errs = append(errs, field.Invalid(end, *p.EndPort, "may not be specified when `port` is non-numeric"))
	default:
		errs = join(errs,
			check(*p.EndPort >= p.Port.IntVal, end, *p.EndPort, "must be greater than or equal to `port`"),
			between(end, int64(*p.EndPort), 1, 65535))
	}
	switch {
	case p.Port == nil:
		return errs
	case p.Port.Type == intstr.String:
		return append(errs, wellFormed(at, p.Port.StrVal, validation.IsValidPortName)...)
	}
	return append(errs, between(at, int64(p.Port.IntVal), 1, 65535)...)
}

func (r networkPolicyRules) peer(path *field.Path, p *networkingv1.NetworkPolicyPeer) field.ErrorList {
	var errs field.ErrorList
	if p.PodSelector != nil {
		errs = append(errs, r.selector(path.Child("podSelector"), p.PodSelector)...)
	}
	if p.NamespaceSelector != nil {
		errs = append(errs, r.selector(path.Child("namespaceSelector"), p.NamespaceSelector)...)
	}
	selects := p.PodSelector != nil || p.NamespaceSelector != nil
	switch {
	case p.IPBlock == nil && !selects:
		return append(errs, field.Required(path, "must specify a peer"))
	case p.IPBlock == nil:
		return errs
	case selects:
		errs = append(errs, field.Forbidden(path, "may not specify both ipBlock and another peer"))
	}
	return append(errs, r.block(path.Child("ipBlock"), p.IPBlock)...)
}

func (r networkPolicyRules) block(path *field.Path, b *networkingv1.IPBlock) field.ErrorList {
	at := path.Child("cidr")
	if b.CIDR == "" {
		return errorList(field.Required(at, ""))
	}
	errs := validation.IsValidCIDRForLegacyField(at, b.CIDR, true, r.known)
	_, whole, err := netutils.ParseCIDRSloppy(b.CIDR)
	if err != nil {
		return errs
	}
	bits, _ := whole.Mask.Size()
	return append(errs, each(path.Child("except"), b.Except, func(at *field.Path, except *string) field.ErrorList {
		errs := validation.IsValidCIDRForLegacyField(at, *except, true, r.known)
		_, part, err := netutils.ParseCIDRSloppy(*except)
		if err != nil {
			return errs
		}
		partBits, _ := part.Mask.Size()
		return append(errs, check(whole.Contains(part.IP) && bits < partBits, at, *except,
			"must be a strict subset of `cidr`")...)
	})...)
}

// NetworkPolicyWarnings returns warnings about ranges of unusual form.
func NetworkPolicyWarnings(p, _ *networkingv1.NetworkPolicy) []string {
	var out []string
	for _, b := range ipBlocks(p) {
		out = append(out, validation.GetWarningsForCIDR(b.path.Child("cidr"), b.block.CIDR)...)
		for i, except := range b.block.Except {
			out = append(out, validation.GetWarningsForCIDR(b.path.Child("except").Index(i), except)...)
		}
	}
	return out
}
