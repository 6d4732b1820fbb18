package sched

import (
	"cmp"
	"slices"

	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
)

// candidate is a node that could take a member now.
type candidate struct {
	node    *model.NodeInfo
	wish    int64   // of the pod's author
	devices int     // free ones that matter to the class
	load    float64 // share of the node that is in use, negative if more is better
}

// candidates are the nodes that could take a member of the class now, best first: what the pod's
// author prefers; then for pods that want devices the node with the fewest free ones, for others nodes without free
// devices. Then a group fills the fullest node, to
// leave room elsewhere, and a pod alone gets the emptiest.
func (j *job) candidates(c *class, problem *alloc.Problem) []candidate {
	var list []candidate
	// Around the devices of a shared claim more members may have to find room later on.
	packs := (j.packs() || problem != nil) && problem == c.problem
	for _, info := range j.possible(c) {
		if c.fitter.dynamic(j.state, info).check != "" {
			continue
		}
		candidate := candidate{node: info, wish: c.fitter.preference(info), load: info.Load}
		if packs {
			candidate.load = -info.Load
		}
		if problem == nil {
			candidate.devices = j.state.FreeLocal(info)
		} else {
			free, offer := problem.Free(info)
			if offer == alloc.Broken {
				// It stops the allocation on all nodes, not only where the odd device is (R20).
				return nil
			}
			if offer == alloc.TooFew {
				continue
			}
			candidate.devices = free
		}
		list = append(list, candidate)
	}
	if len(c.members) > 1 || problem != c.problem {
		slices.SortStableFunc(list, compareCandidates)
	} else {
		bestFirst(list)
	}
	return list
}

func compareCandidates(a, b candidate) int {
	return cmp.Or(cmp.Compare(b.wish, a.wish), cmp.Compare(a.devices, b.devices), cmp.Compare(a.load, b.load))
}

// bestFirst is all the order that one pod needs, as the best of the candidates will take it.
func bestFirst(list []candidate) {
	best := 0
	for i := range list {
		if compareCandidates(list[i], list[best]) < 0 {
			best = i
		}
	}
	if best > 0 {
		list[0], list[best] = list[best], list[0]
	}
}

// packs says whether the unit's pods are put together rather than apart.
func (j *job) packs() bool { return j.unit.Min > 1 }

// possible are the nodes that suit the class and the allocations of the claims that it was given.
func (j *job) possible(c *class) []*model.NodeInfo {
	var selectors []*nodeaffinity.LazyErrorNodeSelector
	for _, key := range c.given {
		claim, _ := j.state.Claim(key)
		if claim.Allocation == nil || claim.Allocation.NodeSelector == nil {
			continue
		}
		if name, ok := tie(claim.Allocation.NodeSelector); ok {
			return j.tied(c, name)
		}
		selectors = append(selectors, nodeaffinity.NewLazyErrorNodeSelector(claim.Allocation.NodeSelector))
	}
	nodes := j.suitedNodes(c)
	if len(selectors) == 0 {
		return nodes
	}
	var possible []*model.NodeInfo
	for _, info := range nodes {
		if allMatch(selectors, info) {
			possible = append(possible, info)
		}
	}
	return possible
}

func allMatch(selectors []*nodeaffinity.LazyErrorNodeSelector, info *model.NodeInfo) bool {
	for _, selector := range selectors {
		if matches, err := selector.Match(info.API); err != nil || !matches {
			return false
		}
	}
	return true
}

// tied is the one node that a claim allows, if it suits.
func (j *job) tied(c *class, name string) []*model.NodeInfo {
	info, ok := j.state.Node(name)
	if !ok || c.fitter.static(info).check != "" || j.claimMisses(c, info) != nil {
		return nil
	}
	return []*model.NodeInfo{info}
}

// claimMisses finds a claim that the class was given and that cannot be used from the node.
func (j *job) claimMisses(c *class, info *model.NodeInfo) *model.Claim {
	for _, key := range c.given {
		claim, _ := j.state.Claim(key)
		if claim.Allocation == nil || claim.Allocation.NodeSelector == nil {
			continue
		}
		matches, err := nodeaffinity.NewLazyErrorNodeSelector(claim.Allocation.NodeSelector).Match(info.API)
		if err != nil || !matches {
			return claim
		}
	}
	return nil
}
