package placement

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
)

// mix is how many members of each class are on one node.
type mix []int

// sum returns the number of members.
func (m mix) sum() int {
	n := 0
	for _, members := range m {
		n += members
	}
	return n
}

// key returns a string that is equal for equal mixes at the same position.
func (m mix) key(position int) string {
	key := binary.AppendUvarint(nil, uint64(position))
	for _, members := range m {
		key = binary.AppendUvarint(key, uint64(members))
	}
	return string(key)
}

// mixer finds a mix for each node so that together they place enough members of several classes.
// Which mixes a node has devices for is found by requesting the devices of all its members
// together, once for equivalent nodes. So what one node cannot do is not tried again for each
// choice of devices on the others, as a backtracker would.
//
// Devices that several nodes could use count for each of them. So that no mixes are sufficient is a
// proof, and that some are is none.
type mixer struct {
	classes  []*podClass
	nodes    []*model.NodeInfo
	usable   []map[string]bool // names of nodes, by class
	budget   *alloc.Budget
	problems map[string]*alloc.Problem // by mix
	fitting  map[string]bool           // by mix and equivalent nodes
	likeness []string                  // what equivalent nodes have in common, by node
	deadEnds map[string]bool           // by node and members that are left
	chosen   []mix                     // by node
}

// newMixer returns a mixer for some classes, or nil if one is of no use for them.
func newMixer(classes []*podClass, budget *alloc.Budget) *mixer {
	if len(classes) < 2 {
		return nil // counting the copies on each node is exact
	}
	if classes[0].scope.state.Devices.HasDraws() {
		return nil // hasResources does not count what devices take of a node
	}
	m := &mixer{
		classes: classes, budget: budget,
		problems: map[string]*alloc.Problem{}, fitting: map[string]bool{}, deadEnds: map[string]bool{},
	}
	seen := map[string]bool{}
	for _, c := range classes {
		if c.extended != nil {
			return nil // the claims of a mix would depend on the node
		}
		usable := map[string]bool{}
		for _, info := range c.usableNodes() {
			usable[info.Name] = true
			if !seen[info.Name] {
				seen[info.Name] = true
				m.nodes = append(m.nodes, info)
			}
		}
		m.usable = append(m.usable, usable)
	}
	m.likeness, m.chosen = make([]string, len(m.nodes)), make([]mix, len(m.nodes))
	return m
}

// find chooses mixes for the nodes that place target members together. It returns Exhausted if
// there are none.
func (m *mixer) find(target int) alloc.Outcome {
	left := make(mix, len(m.classes))
	for i, c := range m.classes {
		left[i] = len(c.members)
	}
	return m.findFrom(0, left, target)
}

// findFrom chooses mixes for the nodes from at on.
func (m *mixer) findFrom(at int, left mix, wanted int) alloc.Outcome {
	switch {
	case wanted <= 0:
		clear(m.chosen[at:])
		return alloc.Accepted
	case at == len(m.nodes) || left.sum() < wanted:
		return alloc.Exhausted
	case !m.budget.Step():
		return alloc.OutOfBudget
	}
	key := left.key(at)
	if m.deadEnds[key] {
		return alloc.Exhausted
	}
	var tried []mix
	outcome := m.eachMix(at, left, func(x mix) alloc.Outcome {
		// Whatever a smaller mix permits, a larger one permits too.
		if slices.ContainsFunc(tried, func(larger mix) bool { return larger.contains(x) }) {
			return alloc.Exhausted
		}
		tried = append(tried, slices.Clone(x))
		m.chosen[at] = tried[len(tried)-1]
		return m.findFrom(at+1, left.minus(x), wanted-x.sum())
	})
	m.deadEnds[key] = outcome == alloc.Exhausted
	return outcome
}

// contains reports whether the mix has at least as many members of each class as the other.
func (m mix) contains(other mix) bool {
	for i := range m {
		if m[i] < other[i] {
			return false
		}
	}
	return true
}

// minus returns what is left of x without the other.
func (m mix) minus(other mix) mix {
	left := slices.Clone(m)
	for i := range left {
		left[i] -= other[i]
	}
	return left
}

// eachMix calls try with mixes for which the node has devices, and at most the members that are
// left, until it does not return Exhausted. A mix that has more of an earlier class comes first.
func (m *mixer) eachMix(at int, left mix, try func(mix) alloc.Outcome) alloc.Outcome {
	x := make(mix, len(left))
	var extend func(class int) alloc.Outcome
	extend = func(class int) alloc.Outcome {
		if class == len(x) {
			return try(x)
		}
		defer func() { x[class] = 0 }()
		for n := m.most(at, class, left[class]); n >= 0; n-- {
			x[class] = n
			fits, outcome := m.fits(at, x)
			if outcome == alloc.OutOfBudget {
				return outcome
			}
			if !fits {
				continue
			}
			if outcome := extend(class + 1); outcome != alloc.Exhausted {
				return outcome
			}
			if class == len(x)-1 {
				return alloc.Exhausted // the others are smaller
			}
		}
		return alloc.Exhausted
	}
	return extend(0)
}

// most returns how many members of a class the node could have, of those that are left.
func (m *mixer) most(at, class, left int) int {
	info := m.nodes[at]
	if !m.usable[class][info.Name] {
		return 0
	}
	return min(left, m.classes[class].fitter.Fits(info))
}

// fits reports whether the node has resources and devices for a mix.
func (m *mixer) fits(at int, x mix) (bool, alloc.Outcome) {
	if x.sum() == 0 {
		return true, alloc.Accepted
	}
	info := m.nodes[at]
	if !m.hasResources(info, x) {
		return false, alloc.Accepted
	}
	if m.likeness[at] == "" {
		m.likeness[at] = m.describe(info)
	}
	key := x.key(0) + m.likeness[at]
	fits, known := m.fitting[key]
	if known {
		return fits, alloc.Accepted
	}
	if !m.budget.Step() {
		return false, alloc.OutOfBudget
	}
	problem := m.problem(x)
	fits = problem == nil
	if !fits {
		_, reason := problem.NodeOffer(info)
		fits = reason == nil
	}
	m.fitting[key] = fits
	return fits, alloc.Accepted
}

// describe returns a string that is equal for nodes that have devices for the same mixes.
func (m *mixer) describe(info *model.NodeInfo) string {
	ones := make(mix, len(m.classes))
	for i := range ones {
		ones[i] = 1
	}
	if problem := m.problem(ones); problem != nil {
		if offer, reason := problem.NodeOffer(info); reason == nil {
			if key := offer.EquivalenceKey(); key != "" {
				return key
			}
		}
	}
	return fmt.Sprint("node ", info.Name)
}

// hasResources reports whether the node has enough of each resource for a mix.
func (m *mixer) hasResources(info *model.NodeInfo, x mix) bool {
	requested := model.Resources{}
	for i, c := range m.classes {
		for _, r := range c.fitter.List() {
			for range x[i] {
				requested[r.Name] = model.AddAmounts(requested[r.Name], r.Amount)
			}
		}
	}
	for name, amount := range requested {
		if amount > info.Free[name] {
			return false
		}
	}
	return true
}

// problem returns the allocation problem of a mix, or nil if its members need no devices.
func (m *mixer) problem(x mix) *alloc.Problem {
	key := x.key(0)
	if problem, known := m.problems[key]; known {
		return problem
	}
	var claims []*model.Claim
	for i, c := range m.classes {
		claims = append(claims, claimsOf(c.members[:1], &c.plain, x[i])...)
	}
	var problem *alloc.Problem
	if len(claims) > 0 {
		scope := m.classes[0].scope
		prepared, reason := scope.alloc.Prepare(scope.state, claims, true)
		if reason != nil {
			panic("placement: claims that can be requested alone cannot be requested together: " + reason.String())
		}
		prepared.WithinBudget(scope.offerBudget)
		problem = prepared
	}
	m.problems[key] = problem
	return problem
}

// place places the mixes that find has chosen, as far as their devices can be had together, and
// fills the rest.
func (m *mixer) place(f *filler) {
	placed := make(mix, len(m.classes))
	for at, x := range m.chosen {
		if x.sum() > 0 && m.placeOn(f, at, placed) {
			for i := range placed {
				placed[i] += x[i]
			}
		}
	}
	for i, c := range m.classes {
		f.fill(c, c.members[placed[i]:])
	}
}

// placeOn places a mix on its node. It reports whether it did; otherwise it places nothing.
func (m *mixer) placeOn(f *filler, at int, placed mix) bool {
	x, info := m.chosen[at], m.nodes[at]
	var choice alloc.Choice
	if problem := m.problem(x); problem != nil {
		var claims []*model.Claim
		for i, c := range m.classes {
			if x[i] > 0 {
				claims = append(claims, claimsOf(c.members[placed[i]:placed[i]+x[i]], &c.plain, 1)...)
			}
		}
		offer, reason := problem.WithClaims(claims).NodeOffer(info)
		if reason != nil {
			return false
		}
		best, outcome := offer.Best(&f.budget.Budget)
		if outcome != alloc.Accepted {
			return false
		}
		choice = best
	}
	mark := f.trial.mark()
	for i, c := range m.classes {
		if x[i] == 0 {
			continue
		}
		own := len(c.members[placed[i]].claims(&c.plain)) * x[i]
		for n, member := range c.members[placed[i] : placed[i]+x[i]] {
			if !f.trial.admits(member, info) {
				f.trial.undo(mark)
				return false
			}
			var devices alloc.Choice
			for claim := n; claim < own; claim += x[i] {
				devices = append(devices, choice[claim])
			}
			f.trial.assign(member, info, devices, nil)
		}
		choice = choice[own:]
	}
	return true
}
