package model

import (
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Terms are a pod's required pod affinity and anti-affinity. A pod satisfies an affinity term's count only if it
// matches all affinity terms of the pod that asks (as upstream counts them), so each of these carries all selectors.
type Terms struct {
	Affinity     []*Term
	AntiAffinity []*Term
	Spread       []Spread
}

// Spread is a topology spread constraint that must hold: of the domains that the pod could go to, none may have more
// than MaxSkew pods more than the one with the fewest.
type Spread struct {
	Term           *Term
	MaxSkew        int
	MinDomains     int  // with fewer domains the fewest count as 0
	IgnoreAffinity bool // nodes that the pod's node affinity excludes have domains too
	HonorTaints    bool // nodes with taints that the pod does not tolerate have none
}

// asked are the terms that need a count of the pods they pick.
func (t *Terms) asked(each func(*Term)) {
	for _, term := range t.Affinity {
		each(term)
	}
	for _, term := range t.AntiAffinity {
		each(term)
	}
	for i := range t.Spread {
		each(t.Spread[i].Term)
	}
}

// Term picks pods, and says by which node label they are "in the same place". Terms with equal IDs pick the same.
type Term struct {
	ID          string
	TopologyKey string
	pickers     []picker
}

// picker is one selector over pods of some namespaces.
type picker struct {
	namespaces        []string // sorted
	namespaceSelector labels.Selector
	selector          labels.Selector
}

// Matches says whether a pod of this shape is picked. namespace are the labels of the pod's namespace.
func (t *Term) Matches(shape *Shape, namespace labels.Set) bool {
	for i := range t.pickers {
		if !t.pickers[i].matches(shape, namespace) {
			return false
		}
	}
	return true
}

func (p *picker) matches(shape *Shape, namespace labels.Set) bool {
	if _, listed := slices.BinarySearch(p.namespaces, shape.Namespace); !listed && !p.namespaceSelector.Matches(namespace) {
		return false
	}
	return p.selector.Matches(labels.Set(shape.Labels))
}

// termsFrom parses a pod's required terms. The API server has validated them; a term that cannot be parsed is an error.
func termsFrom(namespace string, affinity *corev1.Affinity) (Terms, error) {
	var terms Terms
	if affinity == nil {
		return terms, nil
	}
	if a := affinity.PodAntiAffinity; a != nil {
		for i := range a.RequiredDuringSchedulingIgnoredDuringExecution {
			raw := a.RequiredDuringSchedulingIgnoredDuringExecution[i : i+1]
			term, err := newTerm(namespace, raw[0].TopologyKey, raw)
			if err != nil {
				return Terms{}, err
			}
			terms.AntiAffinity = append(terms.AntiAffinity, term)
		}
	}
	if a := affinity.PodAffinity; a != nil {
		raw := a.RequiredDuringSchedulingIgnoredDuringExecution
		for i := range raw {
			term, err := newTerm(namespace, raw[i].TopologyKey, raw)
			if err != nil {
				return Terms{}, err
			}
			terms.Affinity = append(terms.Affinity, term)
		}
	}
	return terms, nil
}

func newTerm(namespace, topologyKey string, raw []corev1.PodAffinityTerm) (*Term, error) {
	term := &Term{TopologyKey: topologyKey}
	for i := range raw {
		p, err := newPicker(namespace, &raw[i])
		if err != nil {
			return nil, err
		}
		term.pickers = append(term.pickers, p)
	}
	id, err := json.Marshal(struct {
		Namespace, Key string
		Raw            []corev1.PodAffinityTerm
	}{namespace, topologyKey, raw})
	if err != nil {
		return nil, fmt.Errorf("pod affinity term: %w", err)
	}
	term.ID = string(id)
	return term, nil
}

func newPicker(namespace string, raw *corev1.PodAffinityTerm) (picker, error) {
	selector, err := metav1.LabelSelectorAsSelector(raw.LabelSelector)
	if err != nil {
		return picker{}, fmt.Errorf("pod affinity labelSelector: %w", err)
	}
	p := picker{selector: selector, namespaceSelector: labels.Nothing(), namespaces: slices.Clone(raw.Namespaces)}
	if raw.NamespaceSelector != nil {
		if p.namespaceSelector, err = metav1.LabelSelectorAsSelector(raw.NamespaceSelector); err != nil {
			return picker{}, fmt.Errorf("pod affinity namespaceSelector: %w", err)
		}
	} else if len(p.namespaces) == 0 {
		p.namespaces = []string{namespace}
	}
	slices.Sort(p.namespaces)
	return p, nil
}

// spreadFrom parses the constraints that must hold; the others are wishes.
func spreadFrom(shape *Shape, constraints []corev1.TopologySpreadConstraint) ([]Spread, error) {
	var list []Spread
	for i := range constraints {
		c := &constraints[i]
		if c.WhenUnsatisfiable != corev1.DoNotSchedule {
			continue
		}
		selector := c.LabelSelector.DeepCopy()
		for _, key := range c.MatchLabelKeys {
			if value, ok := shape.Labels[key]; ok && selector != nil {
				selector.MatchExpressions = append(selector.MatchExpressions, metav1.LabelSelectorRequirement{
					Key: key, Operator: metav1.LabelSelectorOpIn, Values: []string{value},
				})
			}
		}
		term, err := newTerm(shape.Namespace, c.TopologyKey, []corev1.PodAffinityTerm{{LabelSelector: selector, TopologyKey: c.TopologyKey}})
		if err != nil {
			return nil, err
		}
		spread := Spread{Term: term, MaxSkew: int(c.MaxSkew), MinDomains: 1}
		if c.MinDomains != nil {
			spread.MinDomains = int(*c.MinDomains)
		}
		spread.IgnoreAffinity = c.NodeAffinityPolicy != nil && *c.NodeAffinityPolicy == corev1.NodeInclusionPolicyIgnore
		spread.HonorTaints = c.NodeTaintsPolicy != nil && *c.NodeTaintsPolicy == corev1.NodeInclusionPolicyHonor
		list = append(list, spread)
	}
	return list, nil
}
