package sched

import (
	"slices"
	"strings"

	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/nodefit"
	"github.com/allot-dev/allot/internal/sched/reason"
)

// bundle are unallocated claims that the same classes share. They are allocated together, for one
// node; the devices decide from where else they can be used.
type bundle struct {
	claims  []*model.Claim
	classes []*class
	problem *alloc.Problem
}

// bundle collects the claims that members share and that have no allocation.
func (j *job) bundle() {
	users := map[model.Key][]*class{}
	var order []model.Key
	for _, c := range j.classes {
		for _, key := range c.given {
			if claim, _ := j.state.Claims.Get(key); claim.Allocation != nil {
				continue
			}
			if users[key] == nil {
				order = append(order, key)
			}
			users[key] = append(users[key], c)
		}
	}
	for _, key := range order {
		claim, _ := j.state.Claims.Get(key)
		at := slices.IndexFunc(j.bundles, func(b *bundle) bool { return slices.Equal(b.classes, users[key]) })
		if at < 0 {
			at = len(j.bundles)
			j.bundles = append(j.bundles, &bundle{classes: users[key]})
		}
		j.bundles[at].claims = append(j.bundles[at].claims, claim)
	}
}

// allocateShared tries the possible allocations of the bundles from this one on, and places the
// members with each. It reports whether nothing better can be found.
func (j *job) allocateShared(at int) bool {
	if at == len(j.bundles) {
		return j.gathered(0)
	}
	b := j.bundles[at]
	tried := map[string]bool{}
	for _, node := range j.anchors(b) {
		board, reason := b.problem.NodeOffer(node)
		if reason != nil {
			continue
		}
		outcome := board.Search(j.budget, func(choice alloc.Choice) bool {
			key := choice.Key()
			if tried[key] {
				return false
			}
			tried[key] = true
			return j.around(at, choice)
		})
		switch outcome {
		case alloc.Accepted:
			return true
		case alloc.OutOfBudget:
			j.exhausted = true
			return true
		}
	}
	return j.without(at)
}

// without continues without the members that use the bundle, if there are enough others.
func (j *job) without(at int) bool {
	before := j.leftOut
	j.leftOut = slices.Clone(before)
	for _, c := range j.bundles[at].classes {
		if !slices.Contains(j.leftOut, c) {
			j.leftOut = append(j.leftOut, c)
		}
	}
	done := false
	if j.inCount() >= j.unit.Min {
		done = j.allocateShared(at + 1)
	} else {
		j.recordFailure(0)
	}
	j.leftOut = before
	return done
}

// in returns the classes that are not excluded.
func (j *job) in() []*class {
	if len(j.leftOut) == 0 {
		return j.classes
	}
	return slices.DeleteFunc(slices.Clone(j.classes), func(c *class) bool { return slices.Contains(j.leftOut, c) })
}

// inCount returns the number of members of these classes.
func (j *job) inCount() int {
	n := 0
	for _, c := range j.in() {
		n += len(c.members)
	}
	return n
}

// around continues with the bundle's claims allocated. It reverts that before it returns.
func (j *job) around(at int, choice alloc.Choice) bool {
	mark := j.mark()
	for i, claim := range j.bundles[at].claims {
		j.assumeClaim(claim.Key, model.Assumption{Allocation: choice[i]})
	}
	done := j.allocateShared(at + 1)
	j.undo(mark)
	return done
}

// anchors returns the nodes on which some member could use the bundle's claims, best first.
func (j *job) anchors(b *bundle) []*model.NodeInfo {
	seen := map[*model.NodeInfo]bool{}
	var anchors []*model.NodeInfo
	for _, c := range b.classes {
		if slices.Contains(j.leftOut, c) {
			continue
		}
		for _, info := range j.candidates(c, b.problem).Nodes() {
			if !seen[info] {
				seen[info] = true
				anchors = append(anchors, info)
			}
		}
	}
	return anchors
}

// ties returns the nodes to which allocations of the trial restrict the members.
func (j *job) ties() []reason.NodeConstraint {
	var ties []reason.NodeConstraint
	for _, b := range j.bundles {
		for _, claim := range b.claims {
			now, _ := j.state.Claims.Get(claim.Key)
			if now.Allocation == nil {
				continue
			}
			tied := reason.NodeConstraint{Claim: claim.Key}
			if node, ok := nodefit.TiedNode(now.Allocation.NodeSelector); ok {
				tied.Where = "node " + node
			} else if now.Allocation.NodeSelector != nil {
				tied.Where = "nodes with " + selectorText(now)
			} else {
				continue
			}
			ties = append(ties, tied)
		}
	}
	return ties
}

// selectorText returns a one-term node selector for people.
func selectorText(claim *model.Claim) string {
	var parts []string
	for _, term := range claim.Allocation.NodeSelector.NodeSelectorTerms {
		for _, r := range term.MatchExpressions {
			parts = append(parts, strings.TrimSpace(r.Key+" "+string(r.Operator)+" "+strings.Join(r.Values, ",")))
		}
	}
	return strings.Join(parts, " and ")
}
