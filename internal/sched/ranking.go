package sched

import "github.com/allot-dev/allot/internal/model"

// ranking gives candidates best first, and sorts no more of them than are asked for: a gang of three among thousands
// of nodes needs a few.
type ranking struct {
	best []candidate // sorted
	rest []candidate // a heap
}

func rank(list []candidate) *ranking {
	r := &ranking{rest: list}
	for i := len(list)/2 - 1; i >= 0; i-- {
		r.sink(i)
	}
	return r
}

// size is how many candidates there are.
func (r *ranking) size() int { return len(r.best) + len(r.rest) }

// at is the node in place i, the best being in place 0.
func (r *ranking) at(i int) *model.NodeInfo {
	for len(r.best) <= i {
		last := len(r.rest) - 1
		r.best = append(r.best, r.rest[0])
		r.rest[0] = r.rest[last]
		r.rest = r.rest[:last]
		r.sink(0)
	}
	return r.best[i].node
}

// nodes are all, best first.
func (r *ranking) nodes() []*model.NodeInfo {
	nodes := make([]*model.NodeInfo, r.size())
	for i := range nodes {
		nodes[i] = r.at(i)
	}
	return nodes
}

func (r *ranking) sink(i int) {
	for {
		best := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(r.rest); child++ {
			if compareCandidates(&r.rest[child], &r.rest[best]) < 0 {
				best = child
			}
		}
		if best == i {
			return
		}
		r.rest[i], r.rest[best] = r.rest[best], r.rest[i]
		i = best
	}
}
