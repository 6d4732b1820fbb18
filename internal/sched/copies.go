package sched

import (
	"fmt"

	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
)

// Devices that constraints connect, or that share counters, cannot be counted one by one. For how
// many members of a class a node has devices is found by requesting the devices of that many
// members together: identical members and identical devices are then not tried in each order. The
// result for a node is valid for all that are equivalent.

// copies are the Problems of several members of a class together.
type copies struct {
	problems map[int]*alloc.Problem // by the number of members
	known    map[string]int         // results of copiesOn
}

// copiesOn returns an upper bound, of most at most, for the members of the class for which the node
// has devices.
func (j *job) copiesOn(c *class, info *model.NodeInfo, most int) int {
	f := j.form(c, info)
	most = min(most, len(c.members))
	if f.problem == nil || most == 0 {
		return most
	}
	board, reason := f.problem.NodeOffer(info)
	if reason != nil {
		return 0
	}
	if f.copies == nil {
		f.copies = &copies{problems: map[int]*alloc.Problem{}, known: map[string]int{}}
	}
	free := 0
	board.EachFree(func(_ model.PoolID, n int) { free += n })
	if least := f.problem.MinDevices(); least > 0 {
		most = min(most, free/least)
	}
	if board.IsExact() {
		return most
	}
	key := ""
	if like := board.EquivalenceKey(); like != "" {
		key = fmt.Sprint(most, " ", like)
	}
	n, known := f.copies.known[key]
	if !known || key == "" {
		n = j.mostCopies(c, f, info, most)
		f.copies.known[key] = n
	}
	return n
}

// mostCopies returns a number of members for which the node may have devices, such that it provably
// has too few for one more.
func (j *job) mostCopies(c *class, f *form, info *model.NodeInfo, most int) int {
	fits := func(n int) bool {
		_, reason := j.copiesOf(c, f, n).NodeOffer(info)
		return reason == nil
	}
	if most <= 1 || fits(most) {
		return most
	}
	least := 1
	for most--; least < most; {
		if middle := (least + most + 1) / 2; fits(middle) {
			least = middle
		} else {
			most = middle - 1
		}
	}
	return least
}

// copiesOf returns the Problem of n members of the class.
func (j *job) copiesOf(c *class, f *form, n int) *alloc.Problem {
	if problem := f.copies.problems[n]; problem != nil {
		return problem
	}
	problem, reason := j.placer.alloc.Prepare(j.state, claimsOf(c.members[:1], f, n), true)
	if reason != nil {
		panic("sched: claims that can be asked for once cannot be asked for again: " + reason.String())
	}
	problem.WithinBudget(j.boards)
	f.copies.problems[n] = problem
	return problem
}

// claimsOf returns the claims that some members need devices for, each one several times; claims
// that are alike follow each other.
func claimsOf(members []*member, f *form, times int) []*model.Claim {
	var claims []*model.Claim
	for i := range members[0].wants(f) {
		for _, m := range members {
			for range times {
				claims = append(claims, m.wants(f)[i])
			}
		}
	}
	return claims
}

// fillTogether places at least target members, with devices found for all members of a node
// together. It leaves nothing in the trial if it fails.
func (j *job) fillTogether(target int) bool {
	if j.state.Devices.HasDraws() {
		return false
	}
	start := j.mark()
	for _, c := range j.hardestFirst() {
		rest := c.members
		if c.plain.problem != nil {
			for _, info := range j.candidates(c, nil).Nodes() {
				rest = j.putTogether(c, rest, info)
			}
		}
		j.fill(c, rest)
	}
	if len(j.placements) >= target {
		return true
	}
	j.progress()
	j.undo(start)
	return false
}

// putTogether places as many of the members on a node as it can, and returns the others.
func (j *job) putTogether(c *class, rest []*member, info *model.NodeInfo) []*member {
	f := j.form(c, info)
	for n := j.copiesOn(c, info, min(len(rest), c.fitter.Fits(info))); n > 1; n-- {
		board, reason := j.copiesOf(c, f, n).WithClaims(claimsOf(rest[:n], f, 1)).NodeOffer(info)
		if reason != nil {
			continue
		}
		choice, outcome := board.Best(j.budget)
		if outcome != alloc.Accepted {
			j.exhausted = j.exhausted || outcome == alloc.OutOfBudget
			continue
		}
		for i, m := range rest[:n] {
			if j.dynamic(c, info).Failed() || !j.reservable(m) || !j.mountable(c) {
				return rest[i:]
			}
			var own alloc.Choice
			for at := i; at < len(choice); at += n {
				own = append(own, choice[at])
			}
			j.put(m, info, own, nil)
		}
		return rest[n:]
	}
	return rest
}
