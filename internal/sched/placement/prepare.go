package placement

import (
	"slices"

	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/reason"
)

// prepare reads what claims request. Members whose claims cannot be allocated on any node go to the
// reasons. inTrial reports whether a claim has devices in the trial alone.
func (g *gatherer) prepare(inTrial func(model.Key) bool) {
	for _, c := range slices.Clone(g.classes) {
		own := c.members[0].own
		switch {
		case c.extended != nil:
			c.plain.reason = c.prepareForms()
			g.reasons.Offers = append(g.reasons.Offers, c.extended.topics()...)
		case len(own) > 0:
			c.plain.problem, c.plain.reason = g.alloc.Prepare(g.state, own, true)
		}
		if c.plain.reason != nil {
			g.refuse(c, c.plain.reason)
		}
	}
	g.prepareShared()
	g.members = nil
	for _, c := range g.classes {
		g.members = append(g.members, c.members...)
	}
	problems := g.problems()
	for _, problem := range problems {
		problem.WithinBudget(g.offerBudget)
		problem.SetTrialClaims(inTrial)
		problem.DistinguishFor(problems)
	}
}

// prepareShared finds the shared claims. It refuses the classes whose shared claims cannot be
// allocated.
func (g *gatherer) prepareShared() {
	for _, s := range g.findSharedClaims() {
		problem, reason := g.alloc.Prepare(g.state, s.claims, true)
		if reason == nil {
			s.problem = problem
			g.shared = append(g.shared, s)
			continue
		}
		for _, c := range s.classes {
			g.refuse(c, reason)
		}
	}
}

// problems returns the allocation problems of all classes and shared claims.
func (in *input) problems() []*alloc.Problem {
	var problems []*alloc.Problem
	for _, c := range in.classes {
		for _, f := range c.forms() {
			if f.problem != nil {
				problems = append(problems, f.problem)
			}
		}
	}
	for _, s := range in.shared {
		problems = append(problems, s.problem)
	}
	return problems
}

// refuse excludes a class, for a reason that is valid on all nodes.
func (g *gatherer) refuse(c *podClass, cause *alloc.Reason) {
	if !slices.Contains(g.classes, c) {
		return
	}
	g.reasons.Pods = append(g.reasons.Pods, reason.PodReasons{Pods: keysOf(c.members), Alloc: cause})
	g.classes = slices.DeleteFunc(g.classes, func(other *podClass) bool { return other == c })
}

// findSharedClaims returns the claims without an allocation that members share.
func (in *input) findSharedClaims() []*sharedClaims {
	users := map[model.Key][]*podClass{}
	var order []model.Key
	for _, c := range in.classes {
		for _, key := range c.claims {
			if claim, _ := in.state.Claims.Get(key); claim.Allocation != nil {
				continue
			}
			if users[key] == nil {
				order = append(order, key)
			}
			users[key] = append(users[key], c)
		}
	}
	var list []*sharedClaims
	for _, key := range order {
		claim, _ := in.state.Claims.Get(key)
		at := slices.IndexFunc(list, func(s *sharedClaims) bool { return slices.Equal(s.classes, users[key]) })
		if at < 0 {
			at = len(list)
			list = append(list, &sharedClaims{classes: users[key]})
		}
		list[at].claims = append(list[at].claims, claim)
	}
	return list
}
