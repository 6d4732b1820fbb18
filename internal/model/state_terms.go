package model

import "k8s.io/apimachinery/pkg/labels"

// termIndex answers, without a look at any pod, how many pods a term picks in a topology domain, and whose
// anti-affinity forbids a domain. It costs one step per pod change and distinct term in use.
type termIndex struct {
	asked  map[string]*termCount // terms of any pod here; counted are bound pods that the term picks
	bearer map[string]*termCount // anti-affinity terms; counted are bound pods that have the term
	// version grows with every change of a count.
	version uint64
}

type termCount struct {
	term  *Term
	users int            // pods that have the term
	total int            // counted pods on nodes that have the topology label
	by    map[string]int // counted pods by value of the topology label
}

func newTermIndex() termIndex {
	return termIndex{asked: map[string]*termCount{}, bearer: map[string]*termCount{}}
}

func (c *termCount) change(info *NodeInfo, by int) {
	if info.API == nil {
		return
	}
	value, ok := info.API.Labels[c.term.TopologyKey]
	if !ok {
		return
	}
	c.total += by
	if c.by[value] += by; c.by[value] == 0 {
		delete(c.by, value)
	}
}

// Picked is how many bound pods the term picks: those where the topology label has the value, and everywhere. The
// term has to be one of a pod in the State.
func (s *State) Picked(term *Term, value string) (here, everywhere int) {
	count, ok := s.terms.asked[term.ID]
	if !ok {
		return 0, 0
	}
	return count.by[value], count.total
}

// TermsVersion grows with every change of what Picked and Forbidding answer.
func (s *State) TermsVersion() uint64 { return s.terms.version }

// Forbidding finds an anti-affinity term of a bound pod that forbids a pod of this shape on the node.
func (s *State) Forbidding(shape *Shape, info *NodeInfo) bool {
	for _, count := range s.terms.bearer {
		value, ok := info.API.Labels[count.term.TopologyKey]
		if ok && count.by[value] > 0 && count.term.Matches(shape, s.namespaces[shape.Namespace]) {
			return true
		}
	}
	return false
}

// Forbids says whether any bound pod's anti-affinity picks pods of this shape, on whatever node.
func (s *State) Forbids(shape *Shape) bool {
	for _, count := range s.terms.bearer {
		if count.total > 0 && count.term.Matches(shape, s.namespaces[shape.Namespace]) {
			return true
		}
	}
	return false
}

// HasTerms says whether any pod here has required pod affinity or anti-affinity, so that labels of pods matter.
func (s *State) HasTerms() bool { return len(s.terms.asked) > 0 }

// NamespaceLabels are the labels of a namespace, for Term.Matches.
func (s *State) NamespaceLabels(name string) labels.Set { return s.namespaces[name] }

// need registers the terms that the pod has, and counts for those that are new.
func (t *termIndex) need(s *State, pod *Pod) {
	pod.Shape.Terms.asked(func(term *Term) {
		count, ok := t.asked[term.ID]
		if !ok {
			count = &termCount{term: term, by: map[string]int{}}
			t.asked[term.ID] = count
			count.countPicked(s)
		}
		count.users++
	})
}

func (t *termIndex) drop(pod *Pod) {
	pod.Shape.Terms.asked(func(term *Term) {
		count := t.asked[term.ID]
		if count.users--; count.users == 0 {
			delete(t.asked, term.ID)
		}
	})
}

func (c *termCount) countPicked(s *State) {
	for _, info := range s.nodes {
		for _, pod := range info.Pods {
			if c.term.Matches(pod.Shape, s.namespaces[pod.Key.Namespace]) {
				c.change(info, 1)
			}
		}
	}
}

// recount starts over; namespaces whose labels change are rare.
func (t *termIndex) recount(s *State) {
	t.version++
	for _, count := range t.asked {
		count.total, count.by = 0, map[string]int{}
		count.countPicked(s)
	}
}

func (t *termIndex) enterPod(s *State, info *NodeInfo, pod *Pod) { t.changePod(s, info, pod, 1) }

func (t *termIndex) leavePod(s *State, info *NodeInfo, pod *Pod) { t.changePod(s, info, pod, -1) }

func (t *termIndex) changePod(s *State, info *NodeInfo, pod *Pod, by int) {
	t.version++
	for _, term := range pod.Shape.Terms.AntiAffinity {
		count, ok := t.bearer[term.ID]
		if !ok {
			count = &termCount{term: term, by: map[string]int{}}
			t.bearer[term.ID] = count
		}
		count.users += by
	}
	t.count(s, info, pod, by)
	for _, term := range pod.Shape.Terms.AntiAffinity {
		if count, ok := t.bearer[term.ID]; ok && count.users == 0 {
			delete(t.bearer, term.ID)
		}
	}
}

// count counts the pod in its node's domains.
func (t *termIndex) count(s *State, info *NodeInfo, pod *Pod, by int) {
	for _, count := range t.asked {
		if count.term.Matches(pod.Shape, s.namespaces[pod.Key.Namespace]) {
			count.change(info, by)
		}
	}
	for _, term := range pod.Shape.Terms.AntiAffinity {
		t.bearer[term.ID].change(info, by)
	}
}

func (t *termIndex) enterNode(s *State, info *NodeInfo) { t.changeNode(s, info, 1) }

func (t *termIndex) leaveNode(s *State, info *NodeInfo) { t.changeNode(s, info, -1) }

func (t *termIndex) changeNode(s *State, info *NodeInfo, by int) {
	t.version++
	if len(t.asked) == 0 {
		return
	}
	for _, pod := range info.Pods {
		t.count(s, info, pod, by)
	}
}
