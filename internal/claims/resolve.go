package claims

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// State is the state of the claim that an entry means.
type State int

const (
	// Named means that the name of the claim is known.
	Named State = iota
	// Unneeded means that the status records that the entry needs no claim.
	Unneeded
	// NotYet means that the name will be known later without a change to the pod.
	NotYet
	// Broken means that a user must act; the Problem has the reason.
	Broken
)

// Resolution is the claim that one entry of a pod means.
type Resolution struct {
	// Entry is pod.spec.resourceClaims[].name.
	Entry string
	State State
	// Claim is the name of the ResourceClaim in the pod's namespace, if Named.
	Claim string
	// Owner is the UID of the required controller of the claim, or empty if any claim is
	// acceptable.
	Owner types.UID
	// InTree means that the claim may also be that of a CompositePodGroup above the PodGroup, which
	// is then the consumer.
	InTree bool
	// ThroughGroup means that the PodGroup is the consumer, not the pod.
	ThroughGroup bool
	// Source is the source of the entry, or of the PodGroup's entry that it means.
	Source Source
	// Problem is set if NotYet or Broken.
	Problem *Problem
}

// Resolve returns the claim that each entry of the pod means, in the order of the spec. group is
// the PodGroup that the pod names, or nil if it does not exist.
//
// Only records and specs are trusted. What a scheduled pod has recorded stays valid for it, even if
// a new PodGroup with that name was created since; an unscheduled pod follows the current PodGroup
// (F19).
func Resolve(pod *core.Pod, group *scheduling.PodGroup) []Resolution {
	out := make([]Resolution, 0, len(pod.Spec.ResourceClaims))
	for i := range pod.Spec.ResourceClaims {
		out = append(out, resolve(pod, group, &pod.Spec.ResourceClaims[i]))
	}
	return out
}

func resolve(pod *core.Pod, group *scheduling.PodGroup, entry *core.PodResourceClaim) Resolution {
	r := Resolution{Entry: entry.Name, Source: podSource(entry)}
	record, has := recorded(pod.Status.ResourceClaimStatuses, entry.Name)
	if has && record == nil {
		r.State = Unneeded
		return r
	}
	if !belongs(pod, group) {
		return r.resolveWithoutGroup(pod, entry, record)
	}
	if groupEntry, ok := groupEntryOf(entry, group); ok {
		return r.throughGroup(pod, group, groupEntry, record)
	}
	if source := podSource(entry); source.Kind == GroupEntry {
		return r.failed(Broken, GroupEntryMissing, source.Name)
	}
	return r.resolveOwn(pod, entry, record)
}

// resolveWithoutGroup resolves an entry of a pod whose PodGroup does not exist, or that has none.
// Only the record of a scheduled pod is valid then, because each entry may turn out to mean an
// entry of the group.
func (r Resolution) resolveWithoutGroup(pod *core.Pod, entry *core.PodResourceClaim, record *string) Resolution {
	source := podSource(entry)
	name, member := GroupName(pod)
	switch {
	case !member && source.Kind == GroupEntry:
		return r.failed(Broken, NotInGroup, source.Name)
	case !member:
		return r.resolveOwn(pod, entry, record)
	case pod.Spec.NodeName != "" && record != nil:
		r.Claim, r.ThroughGroup = *record, source.Kind == GroupEntry
		return r
	case pod.Spec.NodeName != "" && source.Kind == Direct:
		r.Claim = source.Name
		return r
	}
	return r.failed(NotYet, GroupMissing, name)
}

func (r Resolution) throughGroup(
	pod *core.Pod, group *scheduling.PodGroup, entry *scheduling.PodGroupResourceClaim, record *string,
) Resolution {
	r.ThroughGroup, r.Source = true, groupSource(entry)
	r.InTree = group.Spec.ParentCompositePodGroupName != nil
	if record != nil && pod.Spec.NodeName != "" {
		r.Claim = *record
		return r
	}
	name, state, owner := groupClaim(group, entry)
	switch {
	case state == NotYet:
		return r.failed(NotYet, NotGenerated, "")
	case state != Named:
		r.State = state
		return r
	case record != nil && *record != name:
		return r.failed(NotYet, RecordStale, name)
	}
	r.Claim, r.Owner = name, owner
	return r
}

// groupClaim returns the claim of one of the PodGroup's entries, from its spec and status.
func groupClaim(
	group *scheduling.PodGroup, entry *scheduling.PodGroupResourceClaim,
) (name string, state State, owner types.UID) {
	source := groupSource(entry)
	if source.Kind == Direct {
		return source.Name, Named, ""
	}
	claim, ok := recorded(groupRecords(group), entry.Name)
	switch {
	case !ok:
		return "", NotYet, ""
	case claim == nil:
		return "", Unneeded, ""
	}
	return *claim, Named, group.UID
}

// resolveOwn resolves an entry that is not related to a PodGroup.
func (r Resolution) resolveOwn(pod *core.Pod, entry *core.PodResourceClaim, record *string) Resolution {
	source := podSource(entry)
	switch {
	case source.Kind == Direct:
		r.Claim = source.Name
	case source.Kind == NoSource:
		return r.failed(Broken, UnknownSource, "")
	case record == nil:
		return r.failed(NotYet, NotGenerated, "")
	default:
		r.Claim, r.Owner = *record, pod.UID
	}
	return r
}

func (r Resolution) failed(state State, reason Reason, object string) Resolution {
	r.State, r.Problem = state, &Problem{Reason: reason, Entry: r.Entry, Object: object}
	return r
}

// WithoutTemplate returns the resolution of an entry whose claim was not generated because its
// template does not exist.
func (r Resolution) WithoutTemplate() Resolution {
	return r.failed(NotYet, TemplateMissing, r.Source.String())
}

// Check returns the reason why the claim found under the resolved name is not the intended one: a
// generated claim must be controlled by the owner for which it was generated.
func (r Resolution) Check(claim *resource.ResourceClaim) *Problem {
	if r.Owner == "" || controllerUID(claim) == r.Owner || r.InTree && isOfTree(claim) {
		return nil
	}
	return &Problem{Reason: ForeignOwner, Entry: r.Entry, Object: claim.Name}
}

func controllerUID(claim *resource.ResourceClaim) types.UID {
	if ref := metav1.GetControllerOfNoCopy(claim); ref != nil {
		return ref.UID
	}
	return ""
}

// KnownGroupClaims returns the entries that status.resourceClaimStatuses of a new pod can have: the
// group claims whose names are known already, sorted by entry. group is the PodGroup that the pod
// names, or nil.
func KnownGroupClaims(pod *core.Pod, group *scheduling.PodGroup) []corev1.PodResourceClaimStatus {
	if !belongs(pod, group) {
		return nil
	}
	var out []corev1.PodResourceClaimStatus
	for i := range pod.Spec.ResourceClaims {
		entry, ok := groupEntryOf(&pod.Spec.ResourceClaims[i], group)
		if !ok {
			continue
		}
		if name, state, _ := groupClaim(group, entry); state == Named {
			out = append(out, corev1.PodResourceClaimStatus{Name: pod.Spec.ResourceClaims[i].Name, ResourceClaimName: &name})
		}
	}
	sortRecords(out)
	return out
}

// KnownClaims returns the entries that status.resourceClaimStatuses of a new pod can have, sorted by
// entry: the group claims whose names are known already, and the pod's own claims that will be
// generated because their ResourceClaimTemplate exists. The name of such a claim follows from the
// UID of the pod. If an unrelated claim has it, the controller records another name.
func KnownClaims(
	pod *core.Pod, group *scheduling.PodGroup, templateExists func(name string) bool,
) []corev1.PodResourceClaimStatus {
	out := KnownGroupClaims(pod, group)
	owner := PodOwner(pod, group)
	for _, entry := range owner.Entries {
		if entry.Source.Kind == NamespacedTemplate && templateExists(entry.Source.Name) {
			out = record(out, entry.Name, generatedName(owner, entry.Name, 0))
		}
	}
	sortRecords(out)
	return out
}

// LacksGroupClaims reports whether the pod's status does not have all claim names that its PodGroup
// knows.
func LacksGroupClaims(pod *core.Pod, group *scheduling.PodGroup) bool {
	for _, known := range KnownGroupClaims(pod, group) {
		claim, ok := recorded(pod.Status.ResourceClaimStatuses, known.Name)
		stale := claim != nil && *claim != *known.ResourceClaimName && pod.Spec.NodeName == ""
		if !ok || stale {
			return true
		}
	}
	return false
}

func sortRecords(records []corev1.PodResourceClaimStatus) {
	slices.SortFunc(records, func(a, b corev1.PodResourceClaimStatus) int { return strings.Compare(a.Name, b.Name) })
}
