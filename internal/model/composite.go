package model

import (
	"time"

	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"github.com/allot-dev/allot/api/scheduling/v1alpha3"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// MaxTreeDepth is the largest number of levels of a tree of groups, PodGroups included.
const MaxTreeDepth = schedulingv1alpha3.WorkloadMaxTreeDepth

// Composite is a CompositePodGroup, the members of which are groups.
type Composite struct {
	Key      Key
	UID      types.UID
	Version  uint64
	Created  time.Time
	Parent   string // CompositePodGroup in its namespace of which it is a child, or ""
	Priority *int32 // nil: the highest priority of the pods below it
	// MinGroups is the number of children that are placed together: minGroupCount, or 1 with the
	// basic policy.
	MinGroups int
	Gang      bool
	// Whole means that its children are disrupted together or not at all.
	Whole bool
	// NeverPreempts means preemptionPolicy Never; nil: that of the pods.
	NeverPreempts *bool
	// Topology is the node label of which all pods below it must be in one domain, or "".
	Topology string
	// Scheduled means that the condition CompositePodGroupInitiallyScheduled is True.
	Scheduled bool
	Deleting  bool
	// Unknown is the path of a field that this version does not know, so that no pod below it is
	// placed, or "".
	Unknown string
}

// CompositeFrom converts a CompositePodGroup.
func CompositeFrom(group *v1alpha3.CompositePodGroup) *Composite {
	c := &Composite{
		Key:       KeyOf(group),
		UID:       group.UID,
		Version:   versionOf(group),
		Created:   group.CreationTimestamp.Time,
		Priority:  group.Spec.Priority,
		MinGroups: 1,
		Scheduled: meta.IsStatusConditionTrue(group.Status.Conditions, scheduling.CompositePodGroupInitiallyScheduled),
		Deleting:  group.DeletionTimestamp != nil,
	}
	if parent := group.Spec.ParentCompositePodGroupName; parent != nil {
		c.Parent = *parent
	}
	switch policy := group.Spec.SchedulingPolicy; {
	case policy.Gang != nil:
		c.Gang, c.MinGroups = true, int(policy.Gang.MinGroupCount)
	case policy.Basic == nil:
		c.Unknown = "spec.schedulingPolicy"
	}
	if mode := group.Spec.DisruptionMode; mode != nil {
		if c.Whole = mode.All != nil; mode.All == nil && mode.Single == nil {
			c.Unknown = "spec.disruptionMode"
		}
	}
	if policy := group.Spec.PreemptionPolicy; policy != nil {
		never := *policy == schedulingv1alpha3.PreemptNever
		c.NeverPreempts = &never
	}
	if constraints := group.Spec.SchedulingConstraints; constraints != nil && len(constraints.Topology) > 0 {
		c.Topology = constraints.Topology[0].Key // the API permits one
	}
	return c
}
