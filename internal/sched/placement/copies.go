package placement

import (
	"fmt"

	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
)

// Devices that constraints connect, or that share counters, cannot be counted one by one. For how
// many members of a class a node has devices is found by requesting the devices of that many
// members together: identical members and identical devices are then not tried in each order. The
// result for a node is valid for all that are equivalent.

// maxCopies returns an upper bound, which is most or less, of the number of members of the class
// for which the node has devices.
func (c *podClass) maxCopies(info *model.NodeInfo, most int) int {
	f := c.form(info)
	most = min(most, len(c.members))
	if f.problem == nil || most == 0 {
		return most
	}
	offer, reason := f.problem.NodeOffer(info)
	if reason != nil {
		return 0
	}
	if f.copies == nil {
		f.copies = &copies{problems: map[int]*alloc.Problem{}, maxima: map[string]int{}}
	}
	free := 0
	offer.EachDevice(func(_ model.PoolID, _, requests int) { free += requests })
	if least := f.problem.MinDevices(); least > 0 {
		most = min(most, free/least)
	}
	if offer.IsExact() {
		return most
	}
	key := ""
	if like := offer.EquivalenceKey(); like != "" {
		key = fmt.Sprint(most, " ", like)
	}
	n, known := f.copies.maxima[key]
	if !known || key == "" {
		n = c.searchCopies(f, info, most)
		f.copies.maxima[key] = n
	}
	return n
}

// searchCopies returns a number of members for which the node may have devices, such that it
// provably has too few for one more.
func (c *podClass) searchCopies(f *claimForm, info *model.NodeInfo, most int) int {
	fits := func(n int) bool {
		_, reason := c.copiesOf(f, n).NodeOffer(info)
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

// copiesOf returns the allocation problem of n members of the class.
func (c *podClass) copiesOf(f *claimForm, n int) *alloc.Problem {
	if problem := f.copies.problems[n]; problem != nil {
		return problem
	}
	problem, reason := c.scope.alloc.Prepare(c.scope.state, claimsOf(c.members[:1], f, n), true)
	if reason != nil {
		panic("placement: claims that can be requested once cannot be requested again: " + reason.String())
	}
	problem.WithinBudget(c.scope.offerBudget)
	f.copies.problems[n] = problem
	return problem
}

// claimsOf returns the claims that some members need devices for, each one several times. Identical
// claims follow each other.
func claimsOf(members []*podCandidate, f *claimForm, times int) []*model.Claim {
	var claims []*model.Claim
	for i := range members[0].claims(f) {
		for _, m := range members {
			for range times {
				claims = append(claims, m.claims(f)[i])
			}
		}
	}
	return claims
}
