package sched

import "github.com/allot-dev/allot/internal/sched/reason"

// Reasons are why pods of a unit were not placed; see package reason.
type Reasons = reason.Reasons

// The codes of Reasons.
const (
	CodeGroupMissing  = reason.GroupMissing
	CodeBelowQuorum   = reason.BelowQuorum
	CodeGated         = reason.Gated
	CodeWaiting       = reason.Waiting
	CodeUnschedulable = reason.Unschedulable
	CodeUndecided     = reason.Undecided
	CodeLeftOver      = reason.LeftOver
)
