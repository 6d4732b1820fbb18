package model

import "strconv"

// TermStore counts how many pods a term matches in each topology domain, and how bound pods affect
// incoming pods, so that look-ups read no pods. A change of a pod costs one step for each distinct
// term that may match the pod.
type TermStore struct {
	counted termSet // terms of all pods; they count the bound pods that the term matches
	bearer  termSet // terms of bound pods; they count the pods that have the term
	// version increases with every change of a count, bearers when a bearer term is added or
	// removed.
	version, bearers uint64
	state            *State
}

func newTermStore(s *State) TermStore {
	return TermStore{counted: newTermSet(), bearer: newTermSet(), state: s}
}

// Picked returns how many bound pods the term matches: in the domain with this value of the
// topology label, and in all. The term must be an affinity term of a pod in the State.
func (s *TermStore) Picked(term *Term, value string) (here, everywhere int) {
	count, ok := s.counted.byID[term.ID]
	if !ok {
		return 0, 0
	}
	return count.byValue[value], count.total
}

// PickedByNode returns how many bound pods the term of a spread constraint matches, by node. The
// map must not be changed.
func (s *TermStore) PickedByNode(term *Term) map[string]int {
	count, ok := s.counted.byID[term.ID]
	if !ok {
		return nil
	}
	return count.byValue
}

// Version returns a version that increases with every change of the results of Picked, PickedByNode
// and Pull.
func (s *TermStore) Version() uint64 { return s.version }

// PullsVersion returns a version that increases with every change of the results of Pulls.
func (s *TermStore) PullsVersion() uint64 { return s.bearers }

// Pull is the effect of a term of bound pods on the incoming pods that it matches: they are
// attracted to the domain, repelled, or forbidden there.
type Pull struct {
	count *termCount
}

// hardAffinityWeight is the weight of a bound pod's required affinity in scoring, as in
// kube-scheduler's default.
const hardAffinityWeight = 1

// Forbids reports whether the incoming pod must not be in the domain; otherwise Weight is its
// score.
func (p *Pull) Forbids() bool { return p.count.forbids }

// Weight is positive if the incoming pod is attracted, negative if it is repelled, and 0 if
// Forbids.
func (p *Pull) Weight() int { return p.count.weight }

// At returns how many bound pods in the node's domain have the term.
func (p *Pull) At(info *NodeInfo) int {
	value, ok := info.Node.Labels[p.count.term.TopologyKey]
	if !ok {
		return 0
	}
	return p.count.byValue[value]
}

// Pulls returns the effects of bound pods on a pod of this shape. For most pods there are none.
func (s *TermStore) Pulls(shape *Shape) []Pull {
	var pulls []Pull
	s.bearer.forEachCandidate(shape.Labels, func(count *termCount) {
		if count.term.Matches(shape, s.state.Namespaces.labels[shape.Namespace]) {
			pulls = append(pulls, Pull{count})
		}
	})
	return pulls
}

// Any reports whether any pod has pod affinity, anti-affinity or spread constraints, so that labels
// of pods matter.
func (s *TermStore) Any() bool { return len(s.counted.byID) > 0 }

// register adds the terms of the pod, and counts for those that are new.
func (s *TermStore) register(pod *Pod) {
	pod.Shape.Terms.eachCounted(func(term *Term) {
		count, ok := s.counted.byID[term.ID]
		if !ok {
			count = newTermCount(term)
			s.counted.add(term.ID, count)
			count.countPicked(s.state)
		}
		count.users++
	})
}

func (s *TermStore) unregister(pod *Pod) {
	pod.Shape.Terms.eachCounted(func(term *Term) {
		count := s.counted.byID[term.ID]
		if count.users--; count.users == 0 {
			s.counted.remove(term.ID)
		}
	})
}

func (c *termCount) countPicked(s *State) {
	for _, info := range s.Nodes.byName {
		for _, pod := range info.Pods {
			if c.counts(s, pod) {
				c.change(info, 1)
			}
		}
	}
}

// recount counts again for all terms. Changes of namespace labels are rare.
func (s *TermStore) recount() {
	s.version++
	s.bearers++
	for _, count := range s.counted.byID {
		count.total, count.byValue = 0, map[string]int{}
		count.countPicked(s.state)
	}
}

// eachEffect calls each with the terms by which a bound pod affects incoming pods, with their
// effect.
func (t *Terms) eachEffect(each func(term *Term, weight int, forbids bool)) {
	for _, term := range t.AntiAffinity {
		each(term, 0, true)
	}
	for i := range t.Preferred {
		each(t.Preferred[i].Term, t.Preferred[i].Weight, false)
	}
	for _, term := range t.Affinity {
		each(term, hardAffinityWeight, false)
	}
}

// effectID returns an ID that is equal for equal terms with equal effects.
func effectID(term *Term, weight int) string { return strconv.Itoa(weight) + " " + term.ID }

func (s *TermStore) addPod(info *NodeInfo, pod *Pod) {
	pod.Shape.Terms.eachEffect(func(term *Term, weight int, forbids bool) {
		id := effectID(term, weight)
		count, ok := s.bearer.byID[id]
		if !ok {
			count = newTermCount(term)
			count.weight, count.forbids = weight, forbids
			s.bearer.add(id, count)
			s.bearers++
		}
		count.users++
	})
	s.count(info, pod, 1)
}

func (s *TermStore) removePod(info *NodeInfo, pod *Pod) {
	s.count(info, pod, -1)
	pod.Shape.Terms.eachEffect(func(term *Term, weight int, _ bool) {
		id := effectID(term, weight)
		count := s.bearer.byID[id]
		if count.users--; count.users == 0 {
			s.bearer.remove(id)
			s.bearers++
		}
	})
}

// count adds by for the pod in its node's domains.
func (s *TermStore) count(info *NodeInfo, pod *Pod, by int) {
	s.version++
	if len(s.counted.byID) == 0 {
		return
	}
	s.counted.forEachCandidate(pod.Shape.Labels, func(count *termCount) {
		if count.counts(s.state, pod) {
			count.change(info, by)
		}
	})
	pod.Shape.Terms.eachEffect(func(term *Term, weight int, _ bool) {
		s.bearer.byID[effectID(term, weight)].change(info, by)
	})
}

func (s *TermStore) addNode(info *NodeInfo) { s.changeNode(info, 1) }

func (s *TermStore) removeNode(info *NodeInfo) { s.changeNode(info, -1) }

func (s *TermStore) changeNode(info *NodeInfo, by int) {
	s.version++
	if len(s.counted.byID) == 0 {
		return
	}
	for _, pod := range info.Pods {
		s.count(info, pod, by)
	}
}
