package sched

import (
	"slices"

	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/nodefit"
	"github.com/allot-dev/allot/internal/sched/score"
)

// candidates returns the feasible nodes for the class, best first. If shared is not nil, they are nodes on which its claims
// can be allocated. The ranking is valid until the next call.
func (j *job) candidates(c *class, shared *alloc.Problem) *score.Ranking {
	e := &examiner{job: j, class: c, shared: shared, limited: c.mounts.Limited(j.state)}
	in := &score.Input{
		State: j.state, Shape: c.scorer, Devices: c.wantsDevices() || shared != nil, Siblings: j.siblings(c),
		// Around the devices of a shared claim more members may have to find room later on.
		Packs: (j.packs() || c.wantsDevices()) && shared == nil,
	}
	if problem := c.plain.problem; problem != nil && shared == nil {
		in.CountKey = problem.CountKey()
	}
	restricted := shared != nil || j.only != nil || c.extended != nil || len(c.given)+len(c.mounts)+len(c.pins) > 0
	if !restricted {
		if ranking := j.placer.ranks.RankAll(in, j.suited(c), e); ranking != nil {
			return ranking
		}
	}
	return j.placer.ranks.Rank(in, j.possible(c), e)
}

// siblings returns the pods of the same set, or behind the same Services, by node. A pod alone is spread over nodes with
// few of these, unless it has constraints of its own.
func (j *job) siblings(c *class) map[*model.NodeInfo]int {
	pod, terms := c.members[0].pod, &c.fitter.Shape.Terms
	switch {
	case j.unit.Key.Group || len(terms.Spread)+len(terms.SoftSpread) > 0:
		return nil
	case pod.Set == "":
		return j.state.Services.ServedWith(pod.Shape)
	}
	return j.state.Pods.OfSet(pod.Set)
}

// examiner examines nodes for a class.
type examiner struct {
	job     *job
	class   *class
	shared  *alloc.Problem
	limited bool // limits on the number of volumes can matter
}

// Examine is score.Examiner. A device that makes the allocation fail does so on all nodes, not only where it is (R20).
func (e *examiner) Examine(info *model.NodeInfo) (devices int, alternatives int64, result score.Result) {
	j, c := e.job, e.class
	if c.fitter.Dynamic(j.state, info).Failed() || e.limited && c.mounts.CheckLimits(j.state, info).Failed() {
		return 0, 0, score.Excluded
	}
	problem := e.shared
	if problem == nil {
		f := j.form(c, info)
		if f.reason != nil {
			return 0, 0, score.Excluded
		}
		problem = f.problem
	}
	if problem == nil {
		return j.state.Devices.FreeLocal(info), 0, score.Fits
	}
	free, alternatives, availability := problem.FreeAndScore(info)
	switch availability {
	case alloc.Sufficient:
		return free, alternatives, score.Fits
	case alloc.SelectorFailed:
		return 0, 0, score.Failed
	}
	return 0, 0, score.Excluded
}

// IsCounted reports whether the free devices of the node can be counted.
func (e *examiner) IsCounted(info *model.NodeInfo) bool {
	problem := e.class.plain.problem
	if problem == nil {
		return true
	}
	_, ok := problem.CountFree(info)
	return ok
}

// packs reports whether the unit's pods are put together, not apart.
func (j *job) packs() bool { return j.unit.Min > 1 }

// possible returns the nodes that are suitable for the class and for the allocations of the claims
// that it was given.
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

// tied returns the one node that a claim allows, if it is suitable.
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

// claimMisses returns a claim that the class was given and that cannot be used from the node, or
// that is not the one that the node requires.
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
