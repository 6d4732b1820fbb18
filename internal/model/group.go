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
	Priority *int32 // nil: the highest priority of its pods
	Gang     bool
	MinCount int // spec.schedulingPolicy.gang.minCount, at least 1
	// Whole means that its pods are disrupted together or not at all.
	Whole bool
	// NeverPreempts means preemptionPolicy Never; nil: that of its pods.
	NeverPreempts *bool
	// Topology is the node label of which all pods of the group must be in one domain, or "".
	Topology string
	Progress
	Deleting bool
	Parent   string   // CompositePodGroup in its namespace of which it is a child, or ""
	Claims   []string // names of its claims, as far as they are known
	// Unknown is the path of a field that this version does not know, so that its pods are not
	// placed, or "".
	Unknown string
}

// Progress is the state of the scheduling of a group, as reported by its conditions.
type Progress struct {
	// Scheduled means that the condition PodGroupInitiallyScheduled or PodGroupScheduled is or was
	// True.
	Scheduled bool
	// Completed means that the group was scheduled with its present spec: minCount was not changed
	// afterwards.
	Completed bool
}

// Census counts a group's pods. Every pod that names the group is counted exactly once.
type Census struct {
	Bound    int // number of pods that are on a node or assumed there, not finished and not being deleted
	Ready    int // without a node, can be placed
	Gated    int // without a node, with scheduling gates
	Foreign  int // without a node, of another scheduler
	Deleting int // being deleted, not finished
	Finished int
}

// Quorum returns the number of pods that count towards minCount: bound pods and pods that can be
// placed.
func (c Census) Quorum() int { return c.Bound + c.Ready }

// IsBelowQuorum reports whether the group is a gang with too few pods to be tried.
func (g *Group) IsBelowQuorum(census Census) bool {
	return g.Gang && census.Quorum() < g.MinCount
}

// Unit is a set of pods that are placed together.
type Unit struct {
	Key   UnitKey
	Group *Group // nil for a pod without a group, and for a tree
	Tree  *Tree  // nil for all others
	Pods  []*Pod // pods without a node, by name in each group; empty only if HalfBound
	// Min is the number of Pods that must be placed for any to be placed. If it is 1, each pod is
	// placed independently.
	Min int
	// HalfBound means that fewer than minCount members of a gang are bound, or fewer than a tree
	// needs, and that the unit was never fully scheduled.
	HalfBound     bool
	Priority      int32
	NeverPreempts bool // preemptionPolicy Never
	Created       time.Time
}
