package model

import (
	corev1 "k8s.io/api/core/v1"
)

// Spread is a topology spread constraint: no eligible domain may have more than MaxSkew pods more
// than the eligible domain with the fewest.
type Spread struct {
	Term       *Term
	MaxSkew    int
	MinDomains int // with fewer domains, the minimum counts as 0
	// nodeAffinityPolicy Ignore: nodes that do not match the pod's node affinity count
	IgnoreAffinity bool
	// nodeTaintsPolicy Honor: nodes with taints that are not tolerated do not count
	HonorTaints bool
}

// spreads parses the constraints: DoNotSchedule into Spread, ScheduleAnyway into SoftSpread.
func (t *Terms) spreads(shape *Shape, constraints []corev1.TopologySpreadConstraint) error {
	for i := range constraints {
		spread, err := spreadFrom(shape, &constraints[i])
		if err != nil {
			return err
		}
		if constraints[i].WhenUnsatisfiable == corev1.DoNotSchedule {
			t.Spread = append(t.Spread, spread)
		} else {
			t.SoftSpread = append(t.SoftSpread, spread)
		}
	}
	return nil
}

func spreadFrom(shape *Shape, c *corev1.TopologySpreadConstraint) (Spread, error) {
	selector := withLabelKeys(c.LabelSelector, shape.Labels, c.MatchLabelKeys, nil)
	term, err := newTerm(shape, c.TopologyKey,
		[]corev1.PodAffinityTerm{{LabelSelector: selector, TopologyKey: c.TopologyKey}})
	if err != nil {
		return Spread{}, err
	}
	// Pods are counted in another way than for an affinity term with the same selector.
	term.ID, term.spread = "spread "+term.ID, true
	spread := Spread{Term: term, MaxSkew: int(c.MaxSkew), MinDomains: 1}
	if c.MinDomains != nil {
		spread.MinDomains = int(*c.MinDomains)
	}
	spread.IgnoreAffinity = c.NodeAffinityPolicy != nil && *c.NodeAffinityPolicy == corev1.NodeInclusionPolicyIgnore
	spread.HonorTaints = c.NodeTaintsPolicy != nil && *c.NodeTaintsPolicy == corev1.NodeInclusionPolicyHonor
	return spread, nil
}
