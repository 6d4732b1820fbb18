package claims

import (
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// Known is what is known of those who use a claim, or are its owner.
type Known struct {
	// Pods and Groups are the objects of the claim's namespace, by name, that bear
	// the name of a consumer or of the owner, as far as they are known.
	Pods   map[string]*core.Pod
	Groups map[string]*scheduling.PodGroup
	// Gone are UIDs of consumers that certainly exist no more.
	Gone map[types.UID]bool
	// Live are UIDs that were looked for on the server: under their names Pods and Groups
	// have what it shows. What a cache has instead may be older than they are.
	Live map[types.UID]bool
	// Users are the known pods whose spec or status names the claim.
	Users []*core.Pod
	// Current: Users are as of the claim's version or a later one.
	Current bool
	// Emptied: the list has lost its last entry by somebody else's hand.
	Emptied bool
	// GroupsStay: PodGroups stay consumers, whatever has become of them, since claims of groups are off (K5729).
	GroupsStay bool
}

// Dropped is a consumer that leaves, and why.
type Dropped struct {
	Consumer resourcev1.ResourceClaimConsumerReference
	Why      string
}

// Decision is what has to happen to a claim: first one update of its status with
// Reserved and without allocation if Deallocate, if StatusChanges; then one update
// without the finalizer if FinalizerOff; then Delete. All with the claim's resource
// version, so that a reservation made meanwhile is never lost.
type Decision struct {
	// Ask are consumers, or the pod that is the owner, that must be read live before
	// anything is decided; all else is empty then.
	Ask []resourcev1.ResourceClaimConsumerReference
	// AskUsers: the pods that name the claim must be known as of the claim's version before
	// anything is decided; all else is empty then.
	AskUsers bool
	// Foreign are consumers of other kinds. They stay until somebody takes them off;
	// who can read their kind may find them Gone.
	Foreign []resourcev1.ResourceClaimConsumerReference
	// Drop are the consumers that leave, Add the pods that become consumers because
	// they still run with the claim; Reserved is the list that results.
	Drop     []Dropped
	Add      []resourcev1.ResourceClaimConsumerReference
	Reserved []resourcev1.ResourceClaimConsumerReference
	// Deallocate: the allocation goes.
	Deallocate bool
	// FinalizerOff: the delete-protection finalizer goes.
	FinalizerOff bool
	// Delete: the claim was generated for a pod that will not run (again).
	Delete bool
}

// StatusChanges tells whether the status has to be written.
func (d Decision) StatusChanges() bool { return len(d.Drop) > 0 || len(d.Add) > 0 || d.Deallocate }

// Release decides who leaves status.reservedFor, and whether the claim is free then
// (R16, R17).
//
// When the last consumer leaves, the allocation goes in the same update, unless a pod that
// names the claim keeps it: such a pod becomes a consumer instead. A pod on a node keeps it, so
// that a PodGroup whose finalizer was removed by force, or an owner that lets go too early, frees
// nothing under a running pod (F19). If a consumer has left that stood for pods without naming
// them, a pod without a node keeps it as well: it may be about to be bound, and only its scheduler
// knows (docs/adr/0007). An allocation without any consumer is left as it is (it may be about to be
// reserved), unless it was made for any pod, was seen to be let go, or the claim is being deleted.
func Release(claim *resource.ResourceClaim, known Known) Decision {
	var d Decision
	for _, ref := range claim.Status.ReservedFor {
		switch stands, why := known.standing(ref); stands {
		case unsure:
			d.Ask = append(d.Ask, ref)
		case leaves:
			d.Drop = append(d.Drop, Dropped{ref, why})
		case foreign:
			d.Foreign = append(d.Foreign, ref)
			d.Reserved = append(d.Reserved, ref)
		default:
			d.Reserved = append(d.Reserved, ref)
		}
	}
	if len(d.Reserved) == 0 && known.ownerUnsure(claim) {
		name, uid, _ := OwnerPod(claim)
		d.Ask = append(d.Ask, resourcev1.ResourceClaimConsumerReference{Resource: podsResource, Name: name, UID: uid})
	}
	if len(d.Ask) > 0 {
		return Decision{Ask: d.Ask}
	}
	if len(d.Reserved) == 0 {
		d.empty(claim, known)
	}
	return d
}

// empty decides about a claim that has no consumers (left).
func (d *Decision) empty(claim *resource.ResourceClaim, known Known) {
	allocated := claim.Status.Allocation != nil
	deleting := claim.DeletionTimestamp != nil
	ownerDone := known.ownerDone(claim)
	letGo := len(d.Drop) > 0 || known.Emptied || anyPod(claim) || ownerDone
	if allocated && (letGo || deleting) && !d.free(claim, known) {
		return
	}
	if allocated && !d.Deallocate {
		return
	}
	protected := slices.Contains(claim.Finalizers, Finalizer)
	d.FinalizerOff = protected && (deleting || letGo)
	d.Delete = !deleting && ownerDone
}

// free deallocates the claim if no pod keeps it, and reports whether it does. A pod that is bound on
// the strength of a consumer that stood for it unnamed was there before the consumer left, since
// its scheduler looked for the consumer then. So the consumer leaves first, in a write of its own
// (of the claim of a PodGroup that has ended, its deletion is that write), and the devices go when
// the pods are known that were there at that write.
func (d *Decision) free(claim *resource.ResourceClaim, known Known) bool {
	deleting := claim.DeletionTimestamp != nil
	unnamed := d.leavesUnnamed(claim)
	if _, _, own := OwnerPod(claim); (unnamed || !own) && !known.Current {
		*d = Decision{AskUsers: true}
		return false
	}
	stay := known.staying(claim, unnamed)
	switch {
	case len(stay) > 0 && deleting && anyPod(claim):
		// The API takes no more consumers then, and the pods need none.
	case len(stay) > 0 && deleting:
		// The consumers stay until the pods have ended.
		*d = Decision{Reserved: claim.Status.ReservedFor}
	case len(stay) > 0:
		d.Add, d.Reserved = stay, stay
	case unnamed && !deleting && d.leavesWithOwner(claim):
		*d = Decision{Reserved: claim.Status.ReservedFor, Delete: true}
	case unnamed && !deleting && len(d.Drop) > 0:
	default:
		d.Deallocate = true
	}
	return d.Deallocate
}

// leavesUnnamed reports whether pods may have used the claim, or be about to, without being named in
// its list: through a consumer of another kind, or one that has left before.
func (d *Decision) leavesUnnamed(claim *resource.ResourceClaim) bool {
	return anyPod(claim) || len(claim.Status.ReservedFor) == 0 ||
		slices.ContainsFunc(d.Drop, func(drop Dropped) bool { return !IsPodConsumer(drop.Consumer) })
}

// leavesWithOwner reports whether the PodGroup that leaves is the one that the claim was generated
// for. A claim without the finalizer would lose its devices with its deletion.
func (d *Decision) leavesWithOwner(claim *resource.ResourceClaim) bool {
	_, uid, generated := OwnerGroup(claim)
	return generated && slices.Contains(claim.Finalizers, Finalizer) &&
		slices.ContainsFunc(d.Drop, func(drop Dropped) bool { return drop.Consumer.UID == uid })
}

type standing int

const (
	stays standing = iota
	leaves
	unsure
	foreign
)

// standing tells whether a consumer still needs the claim.
func (k Known) standing(ref resourcev1.ResourceClaimConsumerReference) (standing, string) {
	if k.GroupsStay && IsGroupConsumer(ref) {
		return stays, ""
	}
	if k.Gone[ref.UID] {
		return leaves, "is gone"
	}
	switch {
	case IsPodConsumer(ref):
		pod, ok := k.Pods[ref.Name]
		switch {
		case !ok, pod.UID != ref.UID && !k.Live[ref.UID]:
			return unsure, ""
		case pod.UID != ref.UID:
			return leaves, "was replaced"
		case PodDone(pod):
			return leaves, "will not run any more"
		}
		return stays, ""
	case IsGroupConsumer(ref):
		group, ok := k.Groups[ref.Name]
		switch {
		case !ok, group.UID != ref.UID && !k.Live[ref.UID]:
			return unsure, ""
		case group.UID != ref.UID:
			return leaves, "was replaced"
		case GroupDone(group):
			return leaves, "is being deleted and has no more pods"
		}
		return stays, ""
	}
	return foreign, ""
}

// GroupDone tells that the PodGroup is on its way out and its protection has been
// taken off: no pod of it runs any more. It may still wait for its claims (foreground
// deletion), so the claims must not wait for it.
func GroupDone(group *scheduling.PodGroup) bool {
	return group.DeletionTimestamp != nil && !slices.Contains(group.Finalizers, scheduling.ProtectionFinalizer)
}

// staying returns, as consumers, the users that keep the claim: those that may be running, and, with
// unbound, those that may be about to be bound. They are the first by name, as many as the list holds.
func (k Known) staying(claim *resource.ResourceClaim, unbound bool) []resourcev1.ResourceClaimConsumerReference {
	var out []resourcev1.ResourceClaimConsumerReference
	for _, pod := range k.Users {
		if pod.Namespace == claim.Namespace && (mayRun(pod) || unbound && mayBeBound(pod)) {
			out = append(out, PodConsumer(pod))
		}
	}
	slices.SortFunc(out, func(a, b resourcev1.ResourceClaimConsumerReference) int { return strings.Compare(a.Name, b.Name) })
	return out[:min(len(out), resourcev1.ResourceClaimReservedForMaxSize)]
}

// ownerDone tells that the claim was generated for a pod that has been replaced or
// will not run any more. A pod that is not known may only not be known yet; if it is
// gone, garbage collection takes the claim.
func (k Known) ownerDone(claim *resource.ResourceClaim) bool {
	name, uid, ok := OwnerPod(claim)
	if !ok {
		return false
	}
	pod, known := k.Pods[name]
	return known && (pod.UID != uid || PodDone(pod))
}

// ownerUnsure tells that the pod under the owner's name is another one, which may be
// the one before it as well as the one after it.
func (k Known) ownerUnsure(claim *resource.ResourceClaim) bool {
	name, uid, ok := OwnerPod(claim)
	pod, known := k.Pods[name]
	return ok && known && pod.UID != uid && !k.Gone[uid] && !k.Live[uid]
}
