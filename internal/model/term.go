package model

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// Terms contains the pod affinity terms and topology spread constraints of a pod. As in upstream, a
// pod counts for an affinity term only if it matches all affinity terms of the incoming pod, so
// each affinity term contains all selectors.
type Terms struct {
	Affinity     []*Term
	AntiAffinity []*Term
	Preferred    []Preference
	Spread       []Spread // DoNotSchedule
	SoftSpread   []Spread // ScheduleAnyway
}

// Preference is a preferred pod affinity term; an anti-affinity term has a negative weight.
type Preference struct {
	Term   *Term
	Weight int
}

// counted calls each with the terms that need a count of the pods that they match.
func (t *Terms) eachCounted(each func(*Term)) {
	for _, term := range t.Affinity {
		each(term)
	}
	for _, term := range t.AntiAffinity {
		each(term)
	}
	for i := range t.Preferred {
		each(t.Preferred[i].Term)
	}
	for i := range t.Spread {
		each(t.Spread[i].Term)
	}
	for i := range t.SoftSpread {
		each(t.SoftSpread[i].Term)
	}
}

// ids returns the IDs of all terms, which are equal if and only if the terms are.
func (t *Terms) ids() string {
	var b strings.Builder
	t.eachCounted(func(term *Term) {
		b.WriteString(term.ID)
		b.WriteByte(0)
	})
	return b.String()
}

// Term selects pods, and has the node label of the domains in which they are counted. Terms with
// equal IDs select the same pods.
type Term struct {
	ID          string
	TopologyKey string
	pickers     []picker
	// spread means that pods are counted by node, because the incoming pod decides which nodes
	// count, and that pods that are being deleted do not count.
	spread bool
	bucket string // label that every selected pod has, or ""; see termSet
}

// picker is a selector for pods of some namespaces.
type picker struct {
	namespaces        []string // sorted
	namespaceSelector labels.Selector
	selector          labels.Selector
}

// Matches reports whether the term selects a pod of this shape. namespace contains the labels of
// the pod's namespace.
func (t *Term) Matches(shape *Shape, namespace labels.Set) bool {
	for i := range t.pickers {
		if !t.pickers[i].matches(shape, namespace) {
			return false
		}
	}
	return true
}

func (p *picker) matches(shape *Shape, namespace labels.Set) bool {
	if _, listed := slices.BinarySearch(p.namespaces, shape.Namespace); !listed &&
		!p.namespaceSelector.Matches(namespace) {
		return false
	}
	return p.selector.Matches(labels.Set(shape.Labels))
}

// termsFrom parses the terms of a pod's affinity. It returns an error for a term that cannot be
// parsed, which the API server does not accept.
func termsFrom(shape *Shape) (Terms, error) {
	var terms Terms
	affinity := shape.Affinity
	if affinity == nil {
		return terms, nil
	}
	var err error
	if a := affinity.PodAntiAffinity; a != nil {
		if terms.AntiAffinity, err = eachAlone(shape, a.RequiredDuringSchedulingIgnoredDuringExecution); err != nil {
			return Terms{}, err
		}
		if err = terms.prefer(shape, a.PreferredDuringSchedulingIgnoredDuringExecution, -1); err != nil {
			return Terms{}, err
		}
	}
	if a := affinity.PodAffinity; a != nil {
		if terms.Affinity, err = eachWithAll(shape, a.RequiredDuringSchedulingIgnoredDuringExecution); err != nil {
			return Terms{}, err
		}
		if err = terms.prefer(shape, a.PreferredDuringSchedulingIgnoredDuringExecution, 1); err != nil {
			return Terms{}, err
		}
	}
	return terms, nil
}

func eachAlone(shape *Shape, raw []corev1.PodAffinityTerm) ([]*Term, error) {
	var list []*Term
	for i := range raw {
		term, err := newTerm(shape, raw[i].TopologyKey, raw[i:i+1])
		if err != nil {
			return nil, err
		}
		list = append(list, term)
	}
	return list, nil
}

func eachWithAll(shape *Shape, raw []corev1.PodAffinityTerm) ([]*Term, error) {
	var list []*Term
	for i := range raw {
		term, err := newTerm(shape, raw[i].TopologyKey, raw)
		if err != nil {
			return nil, err
		}
		list = append(list, term)
	}
	return list, nil
}

func (t *Terms) prefer(shape *Shape, raw []corev1.WeightedPodAffinityTerm, sign int) error {
	for i := range raw {
		of := raw[i].PodAffinityTerm
		term, err := newTerm(shape, of.TopologyKey, []corev1.PodAffinityTerm{of})
		if err != nil {
			return err
		}
		t.Preferred = append(t.Preferred, Preference{Term: term, Weight: sign * int(raw[i].Weight)})
	}
	return nil
}

func newTerm(shape *Shape, topologyKey string, raw []corev1.PodAffinityTerm) (*Term, error) {
	term := &Term{TopologyKey: topologyKey}
	merged := make([]corev1.PodAffinityTerm, len(raw))
	for i := range raw {
		merged[i] = raw[i]
		merged[i].LabelSelector = withLabelKeys(raw[i].LabelSelector, shape.Labels, raw[i].MatchLabelKeys,
			raw[i].MismatchLabelKeys)
		merged[i].MatchLabelKeys, merged[i].MismatchLabelKeys = nil, nil
		p, err := newPicker(shape.Namespace, &merged[i])
		if err != nil {
			return nil, err
		}
		term.pickers = append(term.pickers, p)
	}
	id, err := json.Marshal(struct {
		Namespace, Key string
		Raw            []corev1.PodAffinityTerm
	}{shape.Namespace, topologyKey, merged})
	if err != nil {
		return nil, fmt.Errorf("pod affinity term: %w", err)
	}
	term.ID, term.bucket = string(id), term.pickers[0].bucket()
	return term, nil
}

// withLabelKeys adds the requirements of matchLabelKeys and mismatchLabelKeys. The API server adds
// them to the selector when it creates the pod, but a pod may have been stored without them.
func withLabelKeys(
	selector *metav1.LabelSelector, own map[string]string, match, mismatch []string,
) *metav1.LabelSelector {
	if selector == nil || len(match)+len(mismatch) == 0 {
		return selector
	}
	selector = selector.DeepCopy()
	add := func(keys []string, operator metav1.LabelSelectorOperator) {
		for _, key := range keys {
			if value, ok := own[key]; ok {
				selector.MatchExpressions = append(selector.MatchExpressions, metav1.LabelSelectorRequirement{
					Key: key, Operator: operator, Values: []string{value},
				})
			}
		}
	}
	add(match, metav1.LabelSelectorOpIn)
	add(mismatch, metav1.LabelSelectorOpNotIn)
	return selector
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

// bucket returns a label that the selector requires with a value.
func (p *picker) bucket() string {
	requirements, selectable := p.selector.Requirements()
	if !selectable {
		return ""
	}
	for i := range requirements {
		r := &requirements[i]
		switch r.Operator() {
		case selection.Equals, selection.DoubleEquals, selection.In:
			if r.Values().Len() == 1 {
				return r.Key() + "=" + r.Values().UnsortedList()[0]
			}
		}
	}
	return ""
}
