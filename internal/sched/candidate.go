package sched

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
)

// candidate is a node that could take a member now.
type candidate struct {
	node    *model.NodeInfo
	wish    int64   // of the pod's author
	devices int     // free ones that matter to the class
	crowd   float64 // of pods of the same set, in its domains
	load    float64 // share of the node that is in use, negative if more is better; less by what it has of the images
}

// candidates are the nodes that could take a member of the class now, best first: what the pod's
// author prefers; then for pods that want devices the node with the fewest free ones, for others nodes without free
// devices. Then a pod alone goes where few of its set are, a group fills the fullest node, to
// leave room elsewhere, and a pod alone gets the emptiest. That a node has the images counts for as much as its load.
func (j *job) candidates(c *class, shared *alloc.Problem) *ranking {
	possible := j.possible(c)
	list := j.buffer(len(possible))
	// Around the devices of a shared claim more members may have to find room later on.
	packs := (j.packs() || c.wantsDevices()) && shared == nil
	tainted, images, limited := false, j.placer.locality(c.fitter.shape), j.limited(c)
	for _, info := range possible {
		if c.fitter.dynamic(j.state, info).check != "" || limited && j.attachable(c, info).check != "" {
			continue
		}
		candidate := candidate{node: info, load: info.Load}
		if packs {
			candidate.load = -info.Load
		}
		if images != nil {
			candidate.load -= images[info.Number]
		}
		problem := shared
		if shared == nil {
			f := j.form(c, info)
			if f.reason != nil {
				continue
			}
			problem = f.problem
		}
		if problem == nil {
			candidate.devices = j.state.FreeLocal(info)
		} else {
			free, offer := problem.Free(info)
			if offer == alloc.Broken {
				// It stops the allocation on all nodes, not only where the odd device is (R20).
				return &ranking{}
			}
			if offer == alloc.TooFew {
				continue
			}
			candidate.devices = free
		}
		tainted = tainted || len(info.Node.Taints) > 0
		list = append(list, candidate)
	}
	c.fitter.score(j.state, list, tainted)
	j.spreadByDefault(c, list)
	return rank(list)
}

// buffer has room for a list of candidates. With one class of members, no list is needed any more when the next is
// made, so that there is one for all.
func (j *job) buffer(size int) []candidate {
	if len(j.classes) > 1 || len(j.bundles) > 0 {
		return make([]candidate, 0, size)
	}
	if cap(j.placer.scratch) < size {
		j.placer.scratch = make([]candidate, 0, size)
	}
	return j.placer.scratch[:0]
}

// compareCandidates is never 0 for two nodes. It is called for each node and unit, so names are compared last, and only if
// need be.
func compareCandidates(a, b *candidate) int {
	switch {
	case a.wish != b.wish:
		return cmp.Compare(b.wish, a.wish)
	case a.devices != b.devices:
		return cmp.Compare(a.devices, b.devices)
	case a.crowd != b.crowd:
		return cmp.Compare(a.crowd, b.crowd)
	case a.load != b.load:
		return cmp.Compare(a.load, b.load)
	}
	return strings.Compare(a.node.Name, b.node.Name)
}

// packs says whether the unit's pods are put together rather than apart.
func (j *job) packs() bool { return j.unit.Min > 1 }

// possible are the nodes that suit the class and the allocations of the claims that it was given.
func (j *job) possible(c *class) []*model.NodeInfo {
	selectors := c.volumes
	for _, key := range c.given {
		claim, _ := j.state.Claim(key)
		if claim.Allocation == nil || claim.Allocation.NodeSelector == nil {
			continue
		}
		if name, ok := tie(claim.Allocation.NodeSelector); ok {
			return j.tied(c, name)
		}
		selectors = append(slices.Clip(selectors), nodeaffinity.NewLazyErrorNodeSelector(claim.Allocation.NodeSelector))
	}
	nodes := j.within(c)
	if len(selectors) == 0 && c.extended == nil {
		return nodes
	}
	var possible []*model.NodeInfo
	for _, info := range nodes {
		if allMatch(selectors, info) && !j.form(c, info).unfit {
			possible = append(possible, info)
		}
	}
	return possible
}

func allMatch(selectors []*nodeaffinity.LazyErrorNodeSelector, info *model.NodeInfo) bool {
	for _, selector := range selectors {
		if matches, err := selector.Match(info.API()); err != nil || !matches {
			return false
		}
	}
	return true
}

// tied is the one node that a claim allows, if it suits.
func (j *job) tied(c *class, name string) []*model.NodeInfo {
	info, ok := j.state.Node(name)
	if !ok || j.only != nil && !slices.Contains(j.only, info) || c.outside(info) != nil || c.fitter.static(info).check != "" || !allMatch(c.volumes, info) {
		return nil
	}
	if _, misses := j.claimMisses(c, info); misses {
		return nil
	}
	return []*model.NodeInfo{info}
}

// claimMisses finds a claim that the class was given and that cannot be used from the node, or is not what the node needs.
func (j *job) claimMisses(c *class, info *model.NodeInfo) (model.Key, bool) {
	for _, key := range c.given {
		claim, _ := j.state.Claim(key)
		if claim.Allocation == nil || claim.Allocation.NodeSelector == nil {
			continue
		}
		matches, err := nodeaffinity.NewLazyErrorNodeSelector(claim.Allocation.NodeSelector).Match(info.API())
		if err != nil || !matches {
			return key, true
		}
	}
	if j.form(c, info).unfit {
		return c.members[0].extendedKey(), true
	}
	return model.Key{}, false
}
