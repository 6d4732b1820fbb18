package model

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Group is a PodGroup.
type Group struct {
	Key      Key
	UID      types.UID
	Version  uint64
	Created  time.Time
	Priority *int32 // nil: that of its pods
	Gang     bool
	MinCount int // of a gang, at least 1
	// Whole: its pods are disrupted together or not at all.
	Whole bool
	// Never: preemptionPolicy Never; nil: as its pods say.
	Never *bool
	// Topology is the node label of which all pods of the group have to be in one domain, or "".
	Topology string
	// Scheduled: the condition PodGroupInitiallyScheduled or PodGroupScheduled is or was True.
	Scheduled bool
	Deleting  bool
	Claims    []string // names of its claims, as far as they are known
	// Unknown is the path of a field that this version does not know, which keeps its pods from being placed; "" if there is none.
	Unknown string
}

// Census counts a group's pods. Every pod that names the group is in exactly one of the counts.
type Census struct {
	Bound    int // on a node (or assumed there) and not finished, nor being deleted
	Ready    int // waiting for a node and may get one
	Gated    int // live, without a node, with scheduling gates
	Foreign  int // live, without a node, of another scheduler
	Deleting int // being deleted, not finished
	Finished int
}

// Quorum is how many pods count towards minCount: bound ones, and those that could be bound now.
func (c Census) Quorum() int { return c.Bound + c.Ready }

// Unit is what is placed together.
type Unit struct {
	Key   UnitKey
	Group *Group // nil for a pod without a group
	Pods  []*Pod // those that wait for a node, by name; none only if HalfBound
	// Min is how many of Pods have to be placed for any to be. With Min 1, and only then, each pod stands alone.
	Min int
	// HalfBound: some members of a gang are bound here, fewer than minCount, and it was never fully scheduled.
	HalfBound bool
	Priority  int32
	Never     bool // nobody makes room for it
	Created   time.Time
}
