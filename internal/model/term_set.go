package model

import "slices"

// termCount counts bound pods for one term.
type termCount struct {
	term  *Term
	users int // number of pods that have the term
	total int // number of counted pods on nodes that have the topology label
	// number of counted pods by value of the topology label; for a spread term by node
	byValue map[string]int
	// weight and forbids are how bound pods with the term affect incoming pods; see Pull.
	weight  int
	forbids bool
}

func newTermCount(term *Term) *termCount { return &termCount{term: term, byValue: map[string]int{}} }

func (c *termCount) change(info *NodeInfo, by int) {
	if info.Node == nil {
		return
	}
	value, ok := info.Name, c.term.spread
	if !ok {
		value, ok = info.Node.Labels[c.term.TopologyKey]
	}
	if !ok {
		return
	}
	c.total += by
	if c.byValue[value] += by; c.byValue[value] == 0 {
		delete(c.byValue, value)
	}
}

// counts reports whether the term counts a bound pod.
func (c *termCount) counts(s *State, pod *Pod) bool {
	return !(c.term.spread && pod.Deleting) && c.term.Matches(pod.Shape, s.Namespaces.labels[pod.Key.Namespace])
}

// termSet finds the terms that can match a pod by a label that they require, without reading all
// terms: a cluster with a thousand workloads with anti-affinity has a thousand terms.
type termSet struct {
	byID    map[string]*termCount
	byLabel map[string][]*termCount
	wide    []*termCount // terms that require no label
}

func newTermSet() termSet {
	return termSet{byID: map[string]*termCount{}, byLabel: map[string][]*termCount{}}
}

func (t *termSet) add(id string, count *termCount) {
	t.byID[id] = count
	if bucket := count.term.bucket; bucket != "" {
		t.byLabel[bucket] = append(t.byLabel[bucket], count)
	} else {
		t.wide = append(t.wide, count)
	}
}

func (t *termSet) remove(id string) {
	count := t.byID[id]
	delete(t.byID, id)
	same := func(other *termCount) bool { return other == count }
	bucket := count.term.bucket
	if bucket == "" {
		t.wide = slices.DeleteFunc(t.wide, same)
		return
	}
	if t.byLabel[bucket] = slices.DeleteFunc(t.byLabel[bucket], same); len(t.byLabel[bucket]) == 0 {
		delete(t.byLabel, bucket)
	}
}

// forEachCandidate calls each with the terms that may match pods with these labels.
func (t *termSet) forEachCandidate(labels map[string]string, each func(*termCount)) {
	for _, count := range t.wide {
		each(count)
	}
	if len(t.byLabel) == 0 {
		return
	}
	for key, value := range labels {
		for _, count := range t.byLabel[key+"="+value] {
			each(count)
		}
	}
}
