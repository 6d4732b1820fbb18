package placement

import "github.com/allot-dev/allot/internal/model"

// Options limit a placement.
type Options struct {
	// Steps is the budget. MaxSteps is the largest budget that the unit can have in a later
	// placement, if these steps are not sufficient.
	Steps, MaxSteps int
	// ExtraSteps may be spent on placing more of a gang than it needs.
	ExtraSteps int
	// Only restricts the placement to these nodes; nil means all. Where describes them, or is "".
	Only  []*model.NodeInfo
	Where string
	// Parts restrict some of the unit's pods, each to nodes of their own. Pods of different parts
	// are not alike.
	Parts []Part
	// Quiet skips building Reasons.
	Quiet bool
}

// Part is a part of a unit with the nodes to which it is restricted; nil means all.
type Part struct {
	Pods  []*model.Pod
	Nodes []*model.NodeInfo
}
