package registry

import (
	"k8s.io/apimachinery/pkg/runtime"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/allot-dev/allot/internal/apiserver/defaults"
	"github.com/allot-dev/allot/internal/apiserver/printers"
	"github.com/allot-dev/allot/internal/apiserver/rbac"
	"github.com/allot-dev/allot/internal/apiserver/validation"
)

// networkingKinds are only stored: nothing in allot routes or filters traffic.
func networkingKinds() []entry {
	return []entry{
		&kind[networkingv1.NetworkPolicy, *networkingv1.NetworkPolicy]{
			names: names{
				group: networkingGroup, versions: v1, plural: "networkpolicies", singular: "networkpolicy",
				short: []string{"netpol"},
			},
			newList:    func() runtime.Object { return &networkingv1.NetworkPolicyList{} },
			defaults:   defaults.NetworkPolicy,
			printer:    printers.NetworkPolicy,
			class:      rbac.ReadWrite,
			spec:       func(p *networkingv1.NetworkPolicy) any { return &p.Spec },
			generation: true,

			validate:       validation.ValidateNetworkPolicy,
			validateUpdate: validation.ValidateNetworkPolicyUpdate,
			warnings:       validation.NetworkPolicyWarnings,
		},
		&kind[networkingv1.Ingress, *networkingv1.Ingress]{
			names: names{
				group: networkingGroup, versions: v1, plural: "ingresses", singular: "ingress", short: []string{"ing"},
				key: "ingress",
			},
			newList:    func() runtime.Object { return &networkingv1.IngressList{} },
			defaults:   noDefaults[*networkingv1.Ingress],
			printer:    printers.Ingress,
			class:      rbac.ReadWrite,
			spec:       func(i *networkingv1.Ingress) any { return &i.Spec },
			status:     func(i *networkingv1.Ingress) any { return &i.Status },
			generation: true,

			validate:       validation.ValidateIngress,
			validateUpdate: validation.ValidateIngressUpdate,
			validateStatus: validation.ValidateIngressStatusUpdate,
			warnings:       validation.IngressWarnings,
		},
		&kind[networkingv1.IngressClass, *networkingv1.IngressClass]{
			names: names{
				group: networkingGroup, versions: v1, plural: "ingressclasses", singular: "ingressclass", cluster: true,
			},
			newList:    func() runtime.Object { return &networkingv1.IngressClassList{} },
			defaults:   defaults.IngressClass,
			printer:    printers.IngressClass,
			class:      rbac.Cluster,
			spec:       func(c *networkingv1.IngressClass) any { return &c.Spec },
			generation: true,

			validate:       validation.ValidateIngressClass,
			validateUpdate: validation.ValidateIngressClassUpdate,
		},
	}
}
