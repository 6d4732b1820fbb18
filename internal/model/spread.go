package model

import (
	corev1 "k8s.io/api/core/v1"
)

// Spread is a topology spread constraint: of the domains that the pod could go to, none may have more
// than MaxSkew pods more than the one with the fewest.
type Spread struct {
	Term           *Term
	MaxSkew        int
	MinDomains     int  // with fewer domains the fewest count as 0
	IgnoreAffinity bool // nodes that the pod's node affinity excludes have domains too
	HonorTaints    bool // nodes with taints that the pod does not tolerate have none
}

// spreads parses the constraints: those that must hold, and those that are wishes.
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
	term, err := newTerm(shape, c.TopologyKey, []corev1.PodAffinityTerm{{LabelSelector: selector, TopologyKey: c.TopologyKey}})
	if err != nil {
		return Spread{}, err
	}
	// What it picks is counted otherwise than for an affinity term of the same selector.
	term.ID, term.spread = "spread "+term.ID, true
	spread := Spread{Term: term, MaxSkew: int(c.MaxSkew), MinDomains: 1}
	if c.MinDomains != nil {
		spread.MinDomains = int(*c.MinDomains)
	}
	spread.IgnoreAffinity = c.NodeAffinityPolicy != nil && *c.NodeAffinityPolicy == corev1.NodeInclusionPolicyIgnore
	spread.HonorTaints = c.NodeTaintsPolicy != nil && *c.NodeTaintsPolicy == corev1.NodeInclusionPolicyHonor
	return spread, nil
}
