package placement

import "github.com/allot-dev/allot/internal/model"

// Options limit a placement.
type Options struct {
	// Steps is the budget. MaxSteps is the largest budget that the unit can have in a later
	// placement, if these steps are not sufficient.
	Steps, MaxSteps int
	// ExtraSteps may be spent on placing more of a gang than it needs.
	ExtraSteps int
	// Only restricts the placement to these nodes; nil means all.
	Only []*model.NodeInfo
	// Quiet skips building Reasons.
	Quiet bool
}
