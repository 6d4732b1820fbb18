package claims

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// WithFormerClaims returns the owner with the claims with which a scheduled pod was bound, where its
// status names none yet. That may be the claim of an earlier PodGroup of the same name, which was
// deleted without its finalizer while the pod was being bound: the devices would be deallocated
// under the pod if its status named the claim of the current PodGroup (F19).
//
// generated are the known claims that were generated for PodGroups with this name; if one belongs to
// an earlier PodGroup, those of the current one as the server has them. unsure means that an entry is
// left out because it cannot be told yet, or both claims may be meant: as long as the status names
// neither, both are kept for the pod.
func (o Owner) WithFormerClaims(
	pod *core.Pod, group *scheduling.PodGroup, generated []*resource.ResourceClaim,
) (out Owner, unsure bool) {
	var entries []Entry
	for _, entry := range o.Entries {
		if entry.GroupEntry == "" || !entry.Fixed || hasRecord(pod, entry.Name) {
			entries = append(entries, entry)
			continue
		}
		claim, sure := boundClaim(pod, group, entry.GroupEntry, generated)
		if !sure {
			unsure = true
			continue
		}
		entry.Source = Source{Direct, claim.Name}
		entries = append(entries, entry)
	}
	o.Entries = entries
	return o, unsure
}

// boundClaim returns the claim with which a scheduled pod was bound because of the PodGroup's entry.
func boundClaim(
	pod *core.Pod, group *scheduling.PodGroup, entry string, generated []*resource.ResourceClaim,
) (claim *resource.ResourceClaim, sure bool) {
	var current, former *resource.ResourceClaim
	for _, candidate := range generated {
		switch name, uid, ok := OwnerGroup(candidate); {
		case isRecordedTree(group, entry, candidate):
			current = candidate
		case !ok, name != group.Name, candidate.Annotations[PodClaimAnnotation] != entry:
		case uid == group.UID:
			current = candidate
		case candidate.Status.Allocation != nil && isReservedFor(candidate, pod):
			former = candidate
		}
	}
	since := scheduledSince(pod, group)
	switch {
	case current == nil: // the cache may be older than the earlier claim as well
		return nil, false
	case former == nil, since > 0:
		return current, true
	case since < 0, !hasConsumer(current.Status.ReservedFor, GroupConsumer(group)):
		return former, true
	}
	return nil, false
}

// scheduledSince returns how long after the creation of the PodGroup the pod was scheduled, in whole
// seconds, or 0 if that is not known.
func scheduledSince(pod *core.Pod, group *scheduling.PodGroup) time.Duration {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Sub(group.CreationTimestamp.Time)
		}
	}
	return 0
}

// isRecordedTree reports whether the claim is that of a tree which the PodGroup names for the entry.
func isRecordedTree(group *scheduling.PodGroup, entry string, claim *resource.ResourceClaim) bool {
	name, ok := recorded(groupRecords(group), entry)
	return ok && name != nil && *name == claim.Name && isOfTree(claim)
}
