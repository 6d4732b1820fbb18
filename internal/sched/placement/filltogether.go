package placement

import (
	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
)

// fillTogether places members of some classes, with devices found for all members of a class on a
// node together.
func (f *filler) fillTogether(classes []*podClass) {
	for _, c := range hardestFirst(classes) {
		rest := c.members
		if c.plain.problem != nil {
			for _, info := range c.candidates(nil).Nodes() {
				rest = f.placeTogether(c, rest, info)
			}
		}
		f.fill(c, rest)
	}
}

// placeTogether places as many of the members on a node as it can, and returns the others.
func (f *filler) placeTogether(c *podClass, rest []*podCandidate, info *model.NodeInfo) []*podCandidate {
	form := c.form(info)
	for n := c.maxCopies(info, min(len(rest), c.fitter.Fits(info))); n > 1; n-- {
		offer, reason := c.copiesOf(form, n).WithClaims(claimsOf(rest[:n], form, 1)).NodeOffer(info)
		if reason != nil {
			continue
		}
		choice, outcome := offer.Best(&f.budget.Budget)
		if outcome != alloc.Accepted {
			f.budget.note(outcome)
			continue
		}
		for i, m := range rest[:n] {
			if !f.trial.admits(m, info) {
				return rest[i:]
			}
			var own alloc.Choice
			for at := i; at < len(choice); at += n {
				own = append(own, choice[at])
			}
			f.trial.assign(m, info, own, nil)
		}
		return rest[n:]
	}
	return rest
}
