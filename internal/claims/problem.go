package claims

import "fmt"

// Reason is the reason why an entry has no usable claim.
type Reason string

const (
	// GroupMissing means that the pod names a PodGroup that does not exist.
	GroupMissing Reason = "PodGroupMissing"
	// TreeMissing means that a CompositePodGroup above the group does not exist, the claim of which the
	// entry may mean.
	TreeMissing Reason = "CompositePodGroupMissing"
	// GroupEntryMissing means that podGroupResourceClaim names no entry of the PodGroup.
	GroupEntryMissing Reason = "PodGroupClaimMissing"
	// NotInGroup means that a pod without a PodGroup sets podGroupResourceClaim.
	NotInGroup Reason = "NotInPodGroup"
	// UnknownSource means that the entry has no source that allot knows.
	UnknownSource Reason = "UnknownClaimSource"
	// TemplateMissing means that the template does not exist (yet).
	TemplateMissing Reason = "TemplateMissing"
	// NotGenerated means that the claim has not been generated or recorded yet.
	NotGenerated Reason = "ClaimNotGenerated"
	// RecordStale means that the pod's status names another claim than the PodGroup's status.
	RecordStale Reason = "ClaimRecordStale"
	// ForeignOwner means that the recorded claim was generated for a different owner.
	ForeignOwner Reason = "ClaimOfAnotherOwner"
	// ReservationFull means that status.reservedFor has the maximum number of entries.
	ReservationFull Reason = "ReservationFull"
	// NotAllocated means that the claim is not allocated.
	NotAllocated Reason = "ClaimNotAllocated"
	// NotReserved means that the claim is not reserved for the pod, its PodGroup or any pod.
	NotReserved Reason = "ClaimNotReserved"
	// FeatureOff means that the entry requires a feature that is off.
	FeatureOff Reason = "FeatureOff"
)

// Problem is a reason with the entry and object concerned. Its text is stable: equal states give
// equal texts.
type Problem struct {
	Reason Reason
	// Entry is the name in spec.resourceClaims of the pod or group, or empty.
	Entry string
	// Object is the PodGroup, CompositePodGroup, template, claim or group entry to which Reason refers.
	Object string
}

func (p *Problem) Error() string {
	text := p.text()
	if p.Entry == "" {
		return text
	}
	return fmt.Sprintf("claim %q: %s", p.Entry, text)
}

func (p *Problem) text() string {
	switch p.Reason {
	case GroupMissing:
		return fmt.Sprintf("PodGroup %q does not exist", p.Object)
	case TreeMissing:
		return fmt.Sprintf("CompositePodGroup %q does not exist", p.Object)
	case GroupEntryMissing:
		return fmt.Sprintf("the PodGroup has no claim %q", p.Object)
	case NotInGroup:
		return fmt.Sprintf("names the group claim %q, but the pod has no spec.schedulingGroup", p.Object)
	case TemplateMissing:
		return fmt.Sprintf("%s does not exist", p.Object)
	case NotGenerated:
		return "the ResourceClaim has not been generated yet"
	case RecordStale:
		return fmt.Sprintf("the pod's status does not name ResourceClaim %q of its PodGroup yet", p.Object)
	case ForeignOwner:
		return fmt.Sprintf("ResourceClaim %q belongs to a different owner", p.Object)
	case ReservationFull:
		return fmt.Sprintf("status.reservedFor of ResourceClaim %q has the maximum number of entries", p.Object)
	case FeatureOff:
		return fmt.Sprintf("feature %s is off", p.Object)
	case NotAllocated:
		return fmt.Sprintf("ResourceClaim %q is not allocated", p.Object)
	case NotReserved:
		return fmt.Sprintf("ResourceClaim %q is not reserved for the pod, its PodGroup or any pod", p.Object)
	}
	return "has no known source"
}
