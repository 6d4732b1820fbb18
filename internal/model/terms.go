package model

import "strconv"

// TermStore answers, without a look at any pod, how many pods a term picks in a topology domain, and what pods that
// are bound want of those that come. It costs one step per pod change and distinct term that may pick the pod.
type TermStore struct {
	asked  termSet // terms of any pod here; counted are bound pods that the term picks
	bearer termSet // terms of bound pods; counted are those that have the term
	// version grows with every change of a count, bearers when one comes or goes.
	version, bearers uint64
	state            *State
}

func newTermStore(s *State) TermStore {
	return TermStore{asked: newTermSet(), bearer: newTermSet(), state: s}
}

// Picked is how many bound pods the term picks: those where the topology label has the value, and everywhere. The
// term has to be one of a pod in the State, and not of a spread constraint.
func (s *TermStore) Picked(term *Term, value string) (here, everywhere int) {
	count, ok := s.asked.byID[term.ID]
	if !ok {
		return 0, 0
	}
	return count.by[value], count.total
}

// PickedByNode is how many bound pods the term of a spread constraint picks, by node. It is the State's own.
func (s *TermStore) PickedByNode(term *Term) map[string]int {
	count, ok := s.asked.byID[term.ID]
	if !ok {
		return nil
	}
	return count.by
}

// Version grows with every change of what Picked, PickedByNode and a Pull answer.
func (s *TermStore) Version() uint64 { return s.version }

// PullsVersion grows with every change of what Pulls answers.
func (s *TermStore) PullsVersion() uint64 { return s.bearers }

// Pull is what bound pods want of the pods that one of their terms picks: to be in their domain, or not.
type Pull struct {
	count *termCount
}

// hardAffinityWeight is the weight of a bound pod's required affinity for those that it wants to be with; upstream's.
const hardAffinityWeight = 1

// Forbids says whether the pod that comes must not be there; otherwise Weight says how much it is wished for.
func (p *Pull) Forbids() bool { return p.count.forbids }

// Weight is above 0 if the pod that comes is wanted near, below if not; 0 if it must not be there.
func (p *Pull) Weight() int { return p.count.weight }

// At is how many bound pods have the term in the node's domain.
func (p *Pull) At(info *NodeInfo) int {
	value, ok := info.Node.Labels[p.count.term.TopologyKey]
	if !ok {
		return 0
	}
	return p.count.by[value]
}

// Pulls are what bound pods want of a pod of this shape. Most pods are wanted by nobody.
func (s *TermStore) Pulls(shape *Shape) []Pull {
	var pulls []Pull
	s.bearer.near(shape.Labels, func(count *termCount) {
		if count.term.Matches(shape, s.state.Namespaces.labels[shape.Namespace]) {
			pulls = append(pulls, Pull{count})
		}
	})
	return pulls
}

// Any says whether any pod here has pod affinity, anti-affinity or spread constraints, so that labels of pods matter.
func (s *TermStore) Any() bool { return len(s.asked.byID) > 0 }

// need registers the terms that the pod has, and counts for those that are new.
func (s *TermStore) need(pod *Pod) {
	pod.Shape.Terms.asked(func(term *Term) {
		count, ok := s.asked.byID[term.ID]
		if !ok {
			count = newTermCount(term)
			s.asked.add(term.ID, count)
			count.countPicked(s.state)
		}
		count.users++
	})
}

func (s *TermStore) drop(pod *Pod) {
	pod.Shape.Terms.asked(func(term *Term) {
		count := s.asked.byID[term.ID]
		if count.users--; count.users == 0 {
			s.asked.remove(term.ID)
		}
	})
}

func (c *termCount) countPicked(s *State) {
	for _, info := range s.Nodes.byName {
		for _, pod := range info.Pods {
			if c.picks(s, pod) {
				c.change(info, 1)
			}
		}
	}
}

// recount starts over; namespaces whose labels change are rare.
func (s *TermStore) recount() {
	s.version++
	s.bearers++
	for _, count := range s.asked.byID {
		count.total, count.by = 0, map[string]int{}
		count.countPicked(s.state)
	}
}

// borne gives the terms of a pod by which it wants something of pods that come, each with what it wants.
func (t *Terms) borne(each func(term *Term, weight int, forbids bool)) {
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

// bearerID tells terms apart by what their bearers want, too.
func bearerID(term *Term, weight int) string { return strconv.Itoa(weight) + " " + term.ID }

func (s *TermStore) enterPod(info *NodeInfo, pod *Pod) {
	pod.Shape.Terms.borne(func(term *Term, weight int, forbids bool) {
		id := bearerID(term, weight)
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

func (s *TermStore) leavePod(info *NodeInfo, pod *Pod) {
	s.count(info, pod, -1)
	pod.Shape.Terms.borne(func(term *Term, weight int, _ bool) {
		id := bearerID(term, weight)
		count := s.bearer.byID[id]
		if count.users--; count.users == 0 {
			s.bearer.remove(id)
			s.bearers++
		}
	})
}

// count counts the pod in its node's domains.
func (s *TermStore) count(info *NodeInfo, pod *Pod, by int) {
	s.version++
	if len(s.asked.byID) == 0 {
		return
	}
	s.asked.near(pod.Shape.Labels, func(count *termCount) {
		if count.picks(s.state, pod) {
			count.change(info, by)
		}
	})
	pod.Shape.Terms.borne(func(term *Term, weight int, _ bool) {
		s.bearer.byID[bearerID(term, weight)].change(info, by)
	})
}

func (s *TermStore) enterNode(info *NodeInfo) { s.changeNode(info, 1) }

func (s *TermStore) leaveNode(info *NodeInfo) { s.changeNode(info, -1) }

func (s *TermStore) changeNode(info *NodeInfo, by int) {
	s.version++
	if len(s.asked.byID) == 0 {
		return
	}
	for _, pod := range info.Pods {
		s.count(info, pod, by)
	}
}
