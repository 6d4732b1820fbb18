package claims

import (
	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/features"
)

// SeenPod returns the pod as components see it while features are off: without PodGroups it belongs
// to none (K5832). The result shares memory with pod.
func SeenPod(on features.Set, pod *core.Pod) *core.Pod {
	if on.On(features.GenericWorkload) || pod == nil || pod.Spec.SchedulingGroup == nil {
		return pod
	}
	seen := *pod
	seen.Spec.SchedulingGroup = nil
	return &seen
}

// SeenGroup returns the PodGroup as components see it while features are off: without claims of
// groups it has no claims (K5729).
func SeenGroup(on features.Set, group *scheduling.PodGroup) *scheduling.PodGroup {
	if on.On(features.WorkloadClaims) || group == nil || len(group.Spec.ResourceClaims) == 0 {
		return group
	}
	seen := *group
	seen.Spec.ResourceClaims = nil
	return &seen
}

// SeenClaim returns the claim as components see it while features are off: without claims reserved
// for any pod, each pod must be reserved for (K5194). The list of consumers is complete, so that it
// can be written back.
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

// CanRunWith is CanRun for a node on which features are off: without claims of groups, a
// reservation for a PodGroup covers no pod.
func CanRunWith(on features.Set, pod *core.Pod, claim *resource.ResourceClaim) *Problem {
	if !on.On(features.WorkloadClaims) && pod.Spec.SchedulingGroup != nil {
		alone := *pod
		alone.Spec.SchedulingGroup = nil
		pod = &alone
	}
	return CanRun(pod, SeenClaim(on, claim))
}

// WithoutGroupClaims returns the owner while claims of groups are off: an entry that means a claim
// of the group is a problem, and gets no claim, not even one of its own (K5729). Existing records
// stay, so that the pod can continue to run.
func (o Owner) WithoutGroupClaims(pod *core.Pod, group *scheduling.PodGroup) Owner {
	if group == nil || len(group.Spec.ResourceClaims) == 0 {
		return o
	}
	means := map[string]bool{}
	for i := range pod.Spec.ResourceClaims {
		if _, ok := groupEntryOf(&pod.Spec.ResourceClaims[i], group); ok {
			means[pod.Spec.ResourceClaims[i].Name] = true
			o.Problems = append(o.Problems,
				&Problem{Reason: FeatureOff, Entry: pod.Spec.ResourceClaims[i].Name, Object: features.WorkloadClaims.String()})
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
