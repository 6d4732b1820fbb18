package claims

import (
	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/features"
)

// SeenPod is a pod as it looks to those for whom features are off: without PodGroups, it is in none (K5832). It shares
// memory with pod.
func SeenPod(on features.Set, pod *core.Pod) *core.Pod {
	if on.On(features.GenericWorkload) || pod == nil || pod.Spec.SchedulingGroup == nil {
		return pod
	}
	seen := *pod
	seen.Spec.SchedulingGroup = nil
	return &seen
}

// SeenGroup is a PodGroup as it looks to those for whom features are off: without claims of groups, it has none (K5729).
func SeenGroup(on features.Set, group *scheduling.PodGroup) *scheduling.PodGroup {
	if on.On(features.WorkloadClaims) || group == nil || len(group.Spec.ResourceClaims) == 0 {
		return group
	}
	seen := *group
	seen.Spec.ResourceClaims = nil
	return &seen
}

// SeenClaim is a claim as it looks to those for whom features are off: without claims that name their consumer, each pod
// has to be reserved for (K5194). Its list of consumers is whole, so that it can be written back.
func SeenClaim(on features.Set, claim *resource.ResourceClaim) *resource.ResourceClaim {
	if on.On(features.ReservedForWorkloads) || claim == nil || (claim.Spec.ReservedFor == nil && !anyPod(claim)) {
		return claim
	}
	seen := *claim
	seen.Spec.ReservedFor = nil
	if anyPod(claim) {
		allocation := *claim.Status.Allocation
		allocation.ReservedForAnyPod = nil
		seen.Status.Allocation = &allocation
	}
	return &seen
}

// CanRunWith is CanRun for a node for which features are off: without claims of groups, a PodGroup's reservation is for
// no pod.
func CanRunWith(on features.Set, pod *core.Pod, claim *resource.ResourceClaim) *Problem {
	if !on.On(features.WorkloadClaims) && pod.Spec.SchedulingGroup != nil {
		alone := *pod
		alone.Spec.SchedulingGroup = nil
		pod = &alone
	}
	return CanRun(pod, SeenClaim(on, claim))
}

// WithoutGroupClaims is the owner of pod for whom claims of groups are off: entries that mean one are a problem, and get
// no claim, not even one of their own (K5729). What is recorded stays, so that the pod goes on running.
func (o Owner) WithoutGroupClaims(pod *core.Pod, group *scheduling.PodGroup) Owner {
	if group == nil || len(group.Spec.ResourceClaims) == 0 {
		return o
	}
	means := map[string]bool{}
	for i := range pod.Spec.ResourceClaims {
		if _, ok := groupEntryOf(&pod.Spec.ResourceClaims[i], group); ok {
			means[pod.Spec.ResourceClaims[i].Name] = true
			o.Problems = append(o.Problems, &Problem{Reason: FeatureOff, Entry: pod.Spec.ResourceClaims[i].Name, Object: features.WorkloadClaims.String()})
		}
	}
	var entries []Entry
	for _, e := range o.Entries {
		if !means[e.Name] {
			entries = append(entries, e)
		}
	}
	o.Entries = entries
	return o
}
