package score

import (
	"cmp"

	"github.com/allot-dev/allot/internal/model"
)

// Candidate is a feasible node with its scores.
type Candidate struct {
	Node         *model.NodeInfo
	Excluded     bool  // infeasible, or already returned by the ranking
	Alternatives int64 // how early the alternatives are that the pod's requests get there
	Devices      int   // free ones that the pod could use

	zone     int32   // zone of the node; a copy, because the nodes of a large cluster are not in the processor's cache
	author   int64   // weighted sum of the preferences of levelAuthor
	siblings float64 // penalty for pods of the same set in the node's domains
	use      float64 // sum of the preferences of levelUse; less is better
}

// compare orders candidates, the better one first. It returns 0 for candidates that differ in their
// names only.
func (c *Candidate) compare(other *Candidate) int {
	switch {
	case c.author != other.author:
		return cmp.Compare(other.author, c.author)
	case c.Devices != other.Devices:
		return cmp.Compare(c.Devices, other.Devices)
	case c.siblings != other.siblings:
		return cmp.Compare(c.siblings, other.siblings)
	case c.use != other.use:
		return cmp.Compare(c.use, other.use)
	}
	return 0
}
