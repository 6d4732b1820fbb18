package placement

import (
	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/score"
)

// candidates returns the feasible nodes for the class, best first. If shared is not nil, they are
// nodes on which its claims can be allocated. The ranking is valid until the next call.
func (c *podClass) candidates(shared *alloc.Problem) *score.Ranking {
	scope := c.scope
	in, e := c.rankingInput(shared)
	restricted := shared != nil || c.restriction != nil || c.extended != nil || len(c.claims)+len(c.mounts)+len(c.pins) > 0
	if !restricted {
		if ranking := scope.ranks.RankAll(in, c.suitableNodes(), e); ranking != nil {
			return ranking
		}
	}
	return scope.ranks.Rank(in, c.usableNodes(), e)
}

// rankingInput returns what the ranking of nodes for the class depends on.
func (c *podClass) rankingInput(shared *alloc.Problem) (*score.Input, *examiner) {
	scope := c.scope
	in := &score.Input{
		State: scope.state, Shape: c.scorer, Devices: c.needsDevices() || shared != nil, Siblings: c.siblings(),
		// More members may have to be placed near the devices of a shared claim later.
		Packs: (scope.prefersPacking() || c.needsDevices()) && shared == nil,
	}
	if problem := c.plain.problem; problem != nil && shared == nil {
		in.CountKey = problem.CountKey()
	}
	return in, &examiner{class: c, shared: shared, limited: c.mounts.Limited(scope.state)}
}

// siblings returns the pods of the same set, or behind the same Services, by node. A single pod is
// placed on nodes with few of these, unless it has spread constraints of its own.
func (c *podClass) siblings() map[*model.NodeInfo]int {
	state, pod, terms := c.scope.state, c.members[0].pod, &c.fitter.Shape.Terms
	switch {
	case c.scope.unit.Key.Group || c.scope.unit.Key.Tree || len(terms.Spread)+len(terms.SoftSpread) > 0:
		return nil
	case pod.Set == "":
		return state.Services.ServedWith(pod.Shape)
	}
	return state.Pods.OfSet(pod.Set)
}

// examiner examines nodes for a class. It implements score.Examiner.
type examiner struct {
	class   *podClass
	shared  *alloc.Problem
	limited bool // limits on the number of volumes can matter
}

// Examine returns what is free on a node. A device that makes the allocation fail does so on all
// nodes, not only on its own (R20).
func (e *examiner) Examine(info *model.NodeInfo) (devices int, alternatives int64, result score.Result) {
	c, state := e.class, e.class.scope.state
	if c.fitter.Dynamic(state, info).Failed() || e.limited && c.mounts.CheckLimits(state, info).Failed() {
		return 0, 0, score.Excluded
	}
	problem := e.shared
	if problem == nil {
		f := c.form(info)
		if f.reason != nil {
			return 0, 0, score.Excluded
		}
		problem = f.problem
	}
	if problem == nil {
		return state.Devices.FreeLocal(info), 0, score.Fits
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
