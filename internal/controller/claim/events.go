package claim

import (
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	resourcev1alpha3 "github.com/allot-dev/allot/api/resource/v1alpha3"
	"github.com/allot-dev/allot/api/scheduling/v1alpha3"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/claims"
	"github.com/allot-dev/allot/internal/groups"
)

// onPod handles a change in the cache of pods.
func (c *Controller) onPod(before, after *core.Pod) {
	if before != nil && (after == nil || after.UID != before.UID) {
		c.forget(keyOf(Pod, before), before.UID)
		c.release(before.UID)
		c.releaseDeleted(before)
		before = nil
	}
	if after == nil {
		return
	}
	if claims.PodDone(after) {
		if before == nil || !claims.PodDone(before) {
			c.release(after.UID)
			c.releaseDeleted(after)
		}
		return
	}
	if before != nil && podChanged(before, after) {
		c.releaseDeleted(before) // which may name other claims now
	}
	changed := before == nil || podChanged(before, after) || beganToWait(before, after)
	if changed && len(after.Spec.ResourceClaims) > 0 {
		if before == nil {
			c.waitSince.start(keyOf(Pod, after))
		}
		c.queue.Add(keyOf(Pod, after))
	}
}

// podChanged reports whether anything changed that the pod's claims depend on.
func podChanged(before, after *core.Pod) bool {
	return before.Spec.NodeName != after.Spec.NodeName ||
		!apiequality.Semantic.DeepEqual(before.Status.ResourceClaimStatuses, after.Status.ResourceClaimStatuses)
}

// beganToWait reports whether the pod was not scheduled, so that its claims are not left to the
// scheduler any more.
func beganToWait(before, after *core.Pod) bool { return !hasWaited(before) && hasWaited(after) }

// onGroup handles a change in the cache of PodGroups.
func (c *Controller) onGroup(before, after *scheduling.PodGroup) {
	if before != nil && (after == nil || after.UID != before.UID) {
		c.forget(keyOf(PodGroup, before), before.UID)
		c.release(before.UID)
		before = nil
	}
	if after == nil {
		return
	}
	if claims.GroupDone(after) {
		c.release(after.UID)
		return
	}
	if before != nil &&
		apiequality.Semantic.DeepEqual(before.Status.ResourceClaimStatuses, after.Status.ResourceClaimStatuses) {
		return
	}
	if len(after.Spec.ResourceClaims) > 0 {
		if before == nil {
			c.waitSince.start(keyOf(PodGroup, after))
		}
		c.queue.Add(keyOf(PodGroup, after))
	}
	c.wakeMembers(before == nil, after)
}

// onTree handles a change in the cache of CompositePodGroups.
func (c *Controller) onTree(before, after *v1alpha3.CompositePodGroup) {
	if before != nil && (after == nil || after.UID != before.UID) {
		c.forget(keyOf(Tree, before), before.UID)
		c.release(before.UID)
		before = nil
	}
	if after == nil || before != nil &&
		apiequality.Semantic.DeepEqual(before.Status.ResourceClaimStatuses, after.Status.ResourceClaimStatuses) {
		return
	}
	if len(after.Spec.ResourceClaims) > 0 {
		if before == nil {
			c.waitSince.start(keyOf(Tree, after))
		}
		c.queue.Add(keyOf(Tree, after))
	}
	c.wakeBelow(after.Namespace, after.Name, claims.MaxTreeDepth)
}

// wakeBelow enqueues the groups with claims below a CompositePodGroup, the claims of which they may
// share.
func (c *Controller) wakeBelow(namespace, name string, levels int) {
	for _, group := range c.cache.Groups.ByIndex(groups.ParentIndex, groups.IndexKey(namespace, name)) {
		if len(group.Spec.ResourceClaims) > 0 {
			c.queue.Add(keyOf(PodGroup, group))
		}
	}
	if levels == 0 {
		return
	}
	for _, tree := range c.cache.Trees.ByIndex(groups.ParentIndex, groups.IndexKey(namespace, name)) {
		if len(tree.Spec.ResourceClaims) > 0 {
			c.queue.Add(keyOf(Tree, tree))
		}
		c.wakeBelow(namespace, tree.Name, levels-1)
	}
}

// wakeMembers enqueues the pods of a PodGroup: all that have claims if the group is new, and
// otherwise those affected by the change.
func (c *Controller) wakeMembers(isNew bool, group *scheduling.PodGroup) {
	for _, pod := range c.cache.Pods.ByIndex(groups.Index, groups.IndexKey(group.Namespace, group.Name)) {
		if isNew && len(pod.Spec.ResourceClaims) > 0 || claims.LacksGroupClaims(pod, group) {
			c.queue.Add(keyOf(Pod, pod))
		}
	}
}

// forget drops the state of an object that no longer exists.
func (c *Controller) forget(key Key, uid types.UID) {
	c.waiting.drop(key)
	c.waitSince.drop(key)
	c.deleted.Add(uid, nil)
	c.pending.drop(uid)
	c.reported.isNew(uid, "")
}

// release enqueues the claims that an object consumes or owns. A claim for which that becomes true
// later triggers its own event.
func (c *Controller) release(uid types.UID) {
	for _, claim := range c.cache.Claims.ByIndex(claimsByUser, string(uid)) {
		c.queue.Add(keyOf(Claim, claim))
	}
}

// releaseDeleted enqueues the claims being deleted that the pod may use or may have used: the pod
// may have kept them although it is not a consumer.
func (c *Controller) releaseDeleted(pod *core.Pod) {
	for _, name := range claims.Uses(pod) {
		if claim, ok := c.cache.Claims.Get(pod.Namespace, name); ok && claim.DeletionTimestamp != nil {
			c.queue.Add(keyOf(Claim, claim))
		}
	}
	if !claims.LacksRecord(pod) {
		return
	}
	for _, claim := range c.cache.Claims.ByIndex(claimsByUser, deletedKey(pod.Namespace)) {
		if claims.MayUse(pod, claim) {
			c.queue.Add(keyOf(Claim, claim))
		}
	}
}

// onClaim handles a change in the cache of claims.
func (c *Controller) onClaim(before, after *resource.ResourceClaim) {
	if before != nil && (after == nil || after.UID != before.UID) {
		c.idle.drop(before.UID)
		c.foreignSince.drop(before.UID)
		if key, ok := ownerKey(before); ok {
			c.waitSince.start(key) // if the owner still exists, a new claim is due from now on
		}
		c.wakeOwner(before)
		c.wakeUsers(before, func(*core.Pod) bool { return true })
		before = nil
	}
	if after == nil {
		return
	}
	if owner := metav1.GetControllerOfNoCopy(after); before == nil && owner != nil &&
		!c.pending.confirm(owner.UID, after.Name) {
		c.wakeOwner(after)
	}
	c.markIdle(before, after)
	c.foreignSince.record(after)
	c.queue.Add(keyOf(Claim, after))
	if after.Status.Allocation != nil {
		seen := claims.SeenClaim(c.features, after)
		c.wakeUsers(after, func(pod *core.Pod) bool { return claims.NeedsReservation(pod, seen) })
	}
}

// markIdle records that an allocated claim has no consumers. It is released immediately if the last
// consumer was seen to leave, and otherwise after a delay, because the removal may have been
// missed. Only events change this, so that changes are in order.
func (c *Controller) markIdle(before, after *resource.ResourceClaim) {
	switch {
	case after.Status.Allocation == nil || len(after.Status.ReservedFor) > 0:
		c.idle.drop(after.UID)
	case before != nil && len(before.Status.ReservedFor) > 0:
		c.idle.releaseAfter(after.UID, 0)
	default:
		c.idle.releaseAfter(after.UID, idlePeriod)
		c.queue.AddAfter(keyOf(Claim, after), idlePeriod)
	}
}

func (c *Controller) wakeOwner(claim *resource.ResourceClaim) {
	if key, ok := ownerKey(claim); ok {
		c.queue.Add(key)
	}
}

// ownerKey returns the object that a claim was generated for.
func ownerKey(claim *resource.ResourceClaim) (Key, bool) {
	if name, _, ok := claims.OwnerPod(claim); ok {
		return Key{Pod, claim.Namespace, name}, true
	}
	if name, _, ok := claims.OwnerTree(claim); ok {
		return Key{Tree, claim.Namespace, name}, true
	}
	name, _, ok := claims.OwnerGroup(claim)
	return Key{PodGroup, claim.Namespace, name}, ok
}

func (c *Controller) wakeUsers(claim *resource.ResourceClaim, which func(*core.Pod) bool) {
	for _, pod := range c.cache.Pods.ByIndex(claims.PodIndex, claims.PodIndexKey(claim.Namespace, claim.Name)) {
		if which(pod) {
			c.queue.Add(keyOf(Pod, pod))
		}
	}
}

// onTemplate handles a change in the cache of ResourceClaimTemplates.
func (c *Controller) onTemplate(_, after *resource.ResourceClaimTemplate) {
	if after != nil {
		c.wakeWaiting(templateKey{after.Namespace, claims.FromTemplate(after).Source})
	}
}

// onClusterTemplate handles a change in the cache of ClusterResourceClaimTemplates.
func (c *Controller) onClusterTemplate(_, after *resourcev1alpha3.ClusterResourceClaimTemplate) {
	if after != nil {
		c.wakeWaiting(templateKey{"", claims.FromClusterTemplate(after).Source})
	}
}

func (c *Controller) wakeWaiting(template templateKey) {
	for _, key := range c.waiting.take(template) {
		c.waitSince.start(key)
		c.queue.Add(key)
	}
}
