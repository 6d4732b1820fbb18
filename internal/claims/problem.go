package claims

import "fmt"

// Reason is why an entry has no usable claim.
type Reason string

const (
	// GroupMissing: the pod names a PodGroup that does not exist.
	GroupMissing Reason = "PodGroupMissing"
	// GroupEntryMissing: podGroupResourceClaim names no entry of the PodGroup.
	GroupEntryMissing Reason = "PodGroupClaimMissing"
	// NotInGroup: podGroupResourceClaim in a pod that names no PodGroup.
	NotInGroup Reason = "NotInPodGroup"
	// UnknownSource: the entry has none of the sources known here.
	UnknownSource Reason = "UnknownClaimSource"
	// TemplateMissing: the template does not exist (yet).
	TemplateMissing Reason = "TemplateMissing"
	// NotGenerated: the claim has not been generated or recorded yet.
	NotGenerated Reason = "ClaimNotGenerated"
	// RecordStale: the pod's status names another claim than its PodGroup's.
	RecordStale Reason = "ClaimRecordStale"
	// ForeignOwner: the recorded claim was made for somebody else.
	ForeignOwner Reason = "ClaimOfAnotherOwner"
	// ReservationFull: status.reservedFor has no room for another entry.
	ReservationFull Reason = "ReservationFull"
	// NotAllocated: the claim has no devices.
	NotAllocated Reason = "ClaimNotAllocated"
	// NotReserved: the claim is neither for the pod, nor its PodGroup, nor any pod.
	NotReserved Reason = "ClaimNotReserved"
	// FeatureOff: the entry means a claim of a kind that is switched off.
	FeatureOff Reason = "FeatureOff"
)

// Problem is a reason with what it is about. Its text is stable: the same state
// gives the same text.
type Problem struct {
	Reason Reason
	// Entry is the name in spec.resourceClaims of the pod or PodGroup, if one is concerned.
	Entry string
	// Object is the PodGroup, template, claim or group entry that Reason speaks of.
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
		return fmt.Sprintf("ResourceClaim %q was made for another owner", p.Object)
	case ReservationFull:
		return fmt.Sprintf("status.reservedFor of ResourceClaim %q is full", p.Object)
	case FeatureOff:
		return fmt.Sprintf("the feature %s is off", p.Object)
	case NotAllocated:
		return fmt.Sprintf("ResourceClaim %q is not allocated", p.Object)
	case NotReserved:
		return fmt.Sprintf("ResourceClaim %q is not reserved for the pod, its PodGroup or any pod", p.Object)
	}
	return "has no source that is known here"
}
