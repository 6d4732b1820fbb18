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

// Known has the known state of the consumers of a claim and of its owner.
type Known struct {
	// Pods and Groups are the known objects in the claim's namespace that have the name of a
	// consumer or of the owner, by name.
	Pods   map[string]*core.Pod
	Groups map[string]*scheduling.PodGroup
	// Gone has the UIDs of consumers that no longer exist.
	Gone map[types.UID]bool
	// Live has the UIDs that were looked up on the server. Pods and Groups have the result under
	// the names of these objects; a cache may be older.
	Live map[types.UID]bool
	// Users are the known pods whose spec or status names the claim.
	Users []*core.Pod
	// Current means that Users is at least as new as the claim.
	Current bool
	// Emptied means that another component removed the last consumer.
	Emptied bool
	// GroupsStay means that PodGroups stay consumers whatever their state, because claims of groups
	// are off (K5729).
	GroupsStay bool
}

// Dropped is a consumer to remove, with the reason.
type Dropped struct {
	Consumer resourcev1.ResourceClaimConsumerReference
	Why      string
}

// Decision is the change to make to a claim. If StatusChanges, the status is updated first, to the
// consumers in Reserved, and without the allocation if Deallocate. Then the finalizer is removed if
// FinalizerOff, then the claim is deleted if Delete. All requests have the claim's resource
// version, so that a concurrent reservation is never lost.
type Decision struct {
	// Ask are the consumers, or the pod that owns the claim, that must be read from the API before
	// a decision is possible. All other fields are empty then.
	Ask []resourcev1.ResourceClaimConsumerReference
	// AskUsers means that the pods that name the claim must be known as of the claim's version
	// before a decision is possible. All other fields are empty then.
	AskUsers bool
	// Foreign are consumers that are neither pods nor PodGroups. They stay until another component
	// removes them; a caller that can read their kind may find them Gone.
	Foreign []resourcev1.ResourceClaimConsumerReference
	// Drop are the consumers to remove, Add the pods to add because they still run with the claim,
	// and Reserved is the resulting list.
	Drop     []Dropped
	Add      []resourcev1.ResourceClaimConsumerReference
	Reserved []resourcev1.ResourceClaimConsumerReference
	// Deallocate means that the allocation is removed.
	Deallocate bool
	// FinalizerOff means that the delete-protection finalizer is removed.
	FinalizerOff bool
	// Delete means that the claim was generated for a pod that will not run (again).
	Delete bool
}

// StatusChanges reports whether the status must be written.
func (d Decision) StatusChanges() bool { return len(d.Drop) > 0 || len(d.Add) > 0 || d.Deallocate }

// Release decides which consumers are removed from status.reservedFor, and whether the claim is
// deallocated then (R16, R17).
//
// With the last consumer the allocation is removed in the same update, unless a pod that names the
// claim still needs it: such a pod becomes a consumer instead. A pod with a node needs it, so that
// nothing is deallocated under a running pod when the finalizer of a PodGroup was removed by force
// or an owner released the claim too early (F19), also while other consumers stay. If a consumer
// that covered pods without naming them was removed, a pod without a node needs the claim as well:
// it may be about to be bound, and only its scheduler knows (docs/adr/0007). An allocation without
// consumers stays, because it may be about to be reserved, unless it was made for any pod, its
// last consumer was removed by another component, or the claim is being deleted.
func Release(claim *resource.ResourceClaim, known Known) Decision {
	var d Decision
	for _, ref := range claim.Status.ReservedFor {
		switch stands, why := known.stateOf(ref); stands {
		case consumerUnknown:
			d.Ask = append(d.Ask, ref)
		case consumerLeaves:
			d.Drop = append(d.Drop, Dropped{ref, why})
		case consumerForeign:
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
		d.releaseUnused(claim, known)
	} else {
		d.nameUsers(claim, known)
	}
	return d
}

// nameUsers makes consumers of the pods that may use the claim through a consumer that is removed
// while others stay: nothing else would show that they use it when the others are removed. If they
// cannot be added, the consumer stays until they have ended.
func (d *Decision) nameUsers(claim *resource.ResourceClaim, known Known) {
	if claim.Status.Allocation == nil || anyPod(claim) || !d.dropsUnnamed() {
		return
	}
	if !known.Current {
		*d = Decision{AskUsers: true}
		return
	}
	pods := slices.DeleteFunc(known.remainingUsers(claim, true), d.isCovered(known))
	switch room := resourcev1.ResourceClaimReservedForMaxSize - len(d.Reserved); {
	case len(pods) == 0:
	case claim.DeletionTimestamp != nil || len(pods) > room: // new consumers would be rejected
		*d = Decision{Reserved: claim.Status.ReservedFor}
	default:
		d.Add, d.Reserved = pods, append(d.Reserved, pods...)
	}
}

// dropsUnnamed reports whether a consumer that covers pods without naming them is removed.
func (d *Decision) dropsUnnamed() bool {
	return slices.ContainsFunc(d.Drop, func(drop Dropped) bool { return !IsPodConsumer(drop.Consumer) })
}

// isCovered returns a function that reports whether a pod is a consumer that stays, or is covered by
// one.
func (d *Decision) isCovered(known Known) func(resourcev1.ResourceClaimConsumerReference) bool {
	groups := map[types.UID]string{}
	for _, pod := range known.Users {
		groups[pod.UID], _ = GroupName(pod)
	}
	return func(pod resourcev1.ResourceClaimConsumerReference) bool {
		return slices.ContainsFunc(d.Reserved, func(ref resourcev1.ResourceClaimConsumerReference) bool {
			return ref.UID == pod.UID || IsGroupConsumer(ref) && ref.Name == groups[pod.UID]
		})
	}
}

// releaseUnused decides about a claim without (remaining) consumers.
func (d *Decision) releaseUnused(claim *resource.ResourceClaim, known Known) {
	allocated := claim.Status.Allocation != nil
	deleting := claim.DeletionTimestamp != nil
	ownerDone := known.ownerDone(claim)
	letGo := len(d.Drop) > 0 || known.Emptied || anyPod(claim) || ownerDone
	if allocated && (letGo || deleting) && !d.deallocate(claim, known) {
		return
	}
	if allocated && !d.Deallocate {
		return
	}
	protected := slices.Contains(claim.Finalizers, Finalizer)
	d.FinalizerOff = protected && (deleting || letGo)
	d.Delete = !deleting && ownerDone
}

// deallocate deallocates the claim if no pod needs it, and reports whether it does. A scheduler
// that binds a pod on the strength of a consumer which covers the pod without naming it verifies
// that consumer first, so that the pod exists before the consumer is removed. Therefore the
// consumer is removed first, in a write of its own (for the claim of a PodGroup that has ended, the
// deletion of the claim is that write), and the devices are deallocated when all pods that existed
// at that write are known.
func (d *Decision) deallocate(claim *resource.ResourceClaim, known Known) bool {
	deleting := claim.DeletionTimestamp != nil
	unnamed := d.leavesUnnamed(claim)
	if _, _, own := OwnerPod(claim); (unnamed || !own) && !known.Current {
		*d = Decision{AskUsers: true}
		return false
	}
	stay := known.remainingUsers(claim, unnamed)
	stay = stay[:min(len(stay), resourcev1.ResourceClaimReservedForMaxSize)]
	switch {
	case len(stay) > 0:
		d.keepFor(stay, claim)
	case unnamed && !deleting && d.leavesWithOwner(claim):
		*d = Decision{Reserved: claim.Status.ReservedFor, Delete: true}
	case unnamed && !deleting && len(d.Drop) > 0:
	default:
		d.Deallocate = true
	}
	return d.Deallocate
}

// keepFor keeps the claim allocated for pods that use it without being listed as consumers.
func (d *Decision) keepFor(pods []resourcev1.ResourceClaimConsumerReference, claim *resource.ResourceClaim) {
	switch deleting := claim.DeletionTimestamp != nil; {
	case deleting && anyPod(claim):
		// The API rejects new consumers of a claim that is being deleted, and these pods need none.
	case deleting:
		// The consumers stay until the pods have ended.
		*d = Decision{Reserved: claim.Status.ReservedFor}
	default:
		d.Add, d.Reserved = pods, pods
	}
}

// leavesUnnamed reports whether pods may use the claim, or be about to, without being listed as
// consumers: through a consumer of another kind, or one that was removed before.
func (d *Decision) leavesUnnamed(claim *resource.ResourceClaim) bool {
	return anyPod(claim) || len(claim.Status.ReservedFor) == 0 || d.dropsUnnamed()
}

// leavesWithOwner reports whether the PodGroup to remove is the owner of the claim. A claim without
// the finalizer would lose its devices when it is deleted.
func (d *Decision) leavesWithOwner(claim *resource.ResourceClaim) bool {
	_, uid, generated := OwnerGroup(claim)
	return generated && slices.Contains(claim.Finalizers, Finalizer) &&
		slices.ContainsFunc(d.Drop, func(drop Dropped) bool { return drop.Consumer.UID == uid })
}

// consumerState is whether a consumer of a claim still needs it.
type consumerState int

const (
	consumerStays consumerState = iota
	consumerLeaves
	consumerUnknown
	consumerForeign
)

// stateOf decides whether a consumer still needs the claim, and returns the reason if it does not.
func (k Known) stateOf(ref resourcev1.ResourceClaimConsumerReference) (consumerState, string) {
	if k.GroupsStay && IsGroupConsumer(ref) {
		return consumerStays, ""
	}
	if k.Gone[ref.UID] {
		return consumerLeaves, "does not exist"
	}
	switch {
	case IsPodConsumer(ref):
		pod, ok := k.Pods[ref.Name]
		switch {
		case !ok, pod.UID != ref.UID && !k.Live[ref.UID]:
			return consumerUnknown, ""
		case pod.UID != ref.UID:
			return consumerLeaves, "was replaced"
		case PodDone(pod):
			return consumerLeaves, "will not run (again)"
		}
		return consumerStays, ""
	case IsGroupConsumer(ref):
		group, ok := k.Groups[ref.Name]
		switch {
		case !ok, group.UID != ref.UID && !k.Live[ref.UID]:
			return consumerUnknown, ""
		case group.UID != ref.UID:
			return consumerLeaves, "was replaced"
		case GroupDone(group):
			return consumerLeaves, "is being deleted and has no more pods"
		}
		return consumerStays, ""
	}
	return consumerForeign, ""
}

// GroupDone reports whether the PodGroup is being deleted and its protection finalizer has been
// removed: no pod of it runs. With foreground deletion it waits for its claims, so the claims must
// not wait for it.
func GroupDone(group *scheduling.PodGroup) bool {
	return group.DeletionTimestamp != nil && !slices.Contains(group.Finalizers, scheduling.ProtectionFinalizer)
}

// remainingUsers returns the users that need the claim, as consumers: those that may be running,
// and with unbound also those that may be about to be bound. They are sorted by name.
func (k Known) remainingUsers(claim *resource.ResourceClaim, unbound bool) []resourcev1.ResourceClaimConsumerReference {
	var out []resourcev1.ResourceClaimConsumerReference
	for _, pod := range k.Users {
		if pod.Namespace == claim.Namespace && (mayRun(pod) || unbound && mayBeBound(pod)) {
			out = append(out, PodConsumer(pod))
		}
	}
	slices.SortFunc(out,
		func(a, b resourcev1.ResourceClaimConsumerReference) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// ownerDone reports whether the claim was generated for a pod that has been replaced or will not
// run (again). An unknown pod may only be missing in the cache; if it was deleted, the garbage
// collector deletes the claim.
func (k Known) ownerDone(claim *resource.ResourceClaim) bool {
	name, uid, ok := OwnerPod(claim)
	if !ok {
		return false
	}
	pod, known := k.Pods[name]
	return known && (pod.UID != uid || PodDone(pod))
}

// ownerUnsure reports whether the cached pod with the owner's name has a different UID, and may be
// either its predecessor or its successor.
func (k Known) ownerUnsure(claim *resource.ResourceClaim) bool {
	name, uid, ok := OwnerPod(claim)
	pod, known := k.Pods[name]
	return ok && known && pod.UID != uid && !k.Gone[uid] && !k.Live[uid]
}
