package sched

import (
	"slices"

	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/nodefit"
)

// candidate is a node that could take a member now.
type candidate struct {
	node    *model.NodeInfo
	out     bool    // it could not, or was given by the ranking
	zone    int32   // of the node, which is thus not looked at: there are thousands
	wish    int64   // of the pod's author
	earlier int64   // how early the alternatives are that requests get there
	devices int     // free ones that matter to the class
	crowd   float64 // of pods of the same set, in its domains
	load    float64 // share of the node that is in use, negative if more is better; less by what it has of the images
}

// candidates are the nodes that could take a member of the class now, best first: what the pod's
// author prefers; then for pods that want devices the node with the fewest free ones, for others nodes without free
// devices. Then a pod alone goes where few of its set are, a group fills the fullest node, to
// leave room elsewhere, and a pod alone gets the emptiest. That a node has the images counts for as much as its load.
// The ranking is good until the next one is asked for.
func (j *job) candidates(c *class, shared *alloc.Problem) *ranking {
	l := j.look(c, shared)
	if key, ok := l.key(); ok {
		if kept := j.placer.keep(key, l); kept != nil {
			return kept
		}
	}
	possible := j.possible(c)
	r, tainted := &j.placer.scratch, false
	list := slices.Grow(r.list[:0], len(possible))
	for _, info := range possible {
		candidate, broken := l.at(info)
		if broken {
			return &ranking{}
		}
		if !candidate.out {
			tainted = tainted || len(info.Node.Taints) > 0
			list = append(list, candidate)
		}
	}
	c.scorer.score(j.state, list, tainted)
	scoreAlternatives(list)
	r.reset(list)
	r.mingle(j.company(c), j.state.Nodes.Zones())
	r.settle()
	return r
}

// look is what there is to know of a class before its candidates are looked at one by one.
type look struct {
	job     *job
	class   *class
	shared  *alloc.Problem
	packs   bool
	limited bool
	images  *locality
}

func (j *job) look(c *class, shared *alloc.Problem) *look {
	return &look{
		job: j, class: c, shared: shared, limited: c.mounts.Limited(j.state), images: j.placer.locality(c.fitter.Shape),
		// Around the devices of a shared claim more members may have to find room later on.
		packs: (j.packs() || c.wantsDevices()) && shared == nil,
	}
}

// at is the node as a candidate, but for what its author wishes and for the crowd. It answers true if an odd device stops the
// allocation on all nodes, not only where that is (R20).
func (l *look) at(info *model.NodeInfo) (candidate, bool) {
	j, c := l.job, l.class
	candidate := candidate{node: info, out: true, zone: info.Zone}
	if c.fitter.Dynamic(j.state, info).Failed() || l.limited && c.mounts.CheckLimits(j.state, info).Failed() {
		return candidate, false
	}
	if candidate.load = info.Load; l.packs {
		candidate.load = -info.Load
	}
	candidate.load -= l.images.at(info)
	problem := l.shared
	if problem == nil {
		f := j.form(c, info)
		if f.reason != nil {
			return candidate, false
		}
		problem = f.problem
	}
	if problem == nil {
		candidate.out, candidate.devices = false, j.state.Devices.FreeLocal(info)
		return candidate, false
	}
	free, earlier, offer := problem.FreeAndScore(info)
	candidate.out, candidate.devices, candidate.earlier = offer != alloc.Sufficient, free, earlier
	return candidate, offer == alloc.SelectorFailed
}

// packs says whether the unit's pods are put together rather than apart.
func (j *job) packs() bool { return j.unit.Min > 1 }

// possible are the nodes that suit the class and the allocations of the claims that it was given.
func (j *job) possible(c *class) []*model.NodeInfo {
	selectors, skips := c.volumes, false
	for _, key := range c.given {
		claim, _ := j.state.Claims.Get(key)
		skips = skips || claim.Allocation.SkipsOperations()
		if claim.Allocation == nil || claim.Allocation.NodeSelector == nil {
			continue
		}
		if name, ok := nodefit.TiedNode(claim.Allocation.NodeSelector); ok {
			return j.tied(c, name)
		}
		selectors = append(slices.Clip(selectors), nodeaffinity.NewLazyErrorNodeSelector(claim.Allocation.NodeSelector))
	}
	nodes := j.within(c)
	if len(selectors) == 0 && c.extended == nil && !skips {
		return nodes
	}
	var possible []*model.NodeInfo
	for _, info := range nodes {
		if nodefit.AllMatch(selectors, info) && !j.form(c, info).unfit && (!skips || info.Node.SkipsOperations) {
			possible = append(possible, info)
		}
	}
	return possible
}

// tied is the one node that a claim allows, if it suits.
func (j *job) tied(c *class, name string) []*model.NodeInfo {
	info, ok := j.state.Nodes.Get(name)
	if !ok || j.only != nil && !slices.Contains(j.only, info) || c.outside(info) != nil || c.fitter.Static(info).Failed() || !nodefit.AllMatch(c.volumes, info) {
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
		claim, _ := j.state.Claims.Get(key)
		if claim.Allocation.SkipsOperations() && !info.Node.SkipsOperations {
			return key, true
		}
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
