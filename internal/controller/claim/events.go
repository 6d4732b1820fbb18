package claim

import (
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	resourcev1alpha3 "github.com/allot-dev/allot/api/resource/v1alpha3"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/claims"
	"github.com/allot-dev/allot/internal/groups"
)

// onPod takes an event of the cache of pods.
func (c *Controller) onPod(before, after *core.Pod) {
	if before != nil && (after == nil || after.UID != before.UID) {
		c.gone(keyOf(Pod, before), before.UID)
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
		c.releaseDeleted(before) // which may name others now
	}
	if len(after.Spec.ResourceClaims) > 0 && (before == nil || podChanged(before, after)) {
		if before == nil {
			c.heard.of(keyOf(Pod, after))
		}
		c.queue.Add(keyOf(Pod, after))
	}
}

// podChanged tells whether anything changed that a pod's claims depend on.
func podChanged(before, after *core.Pod) bool {
	return before.Spec.NodeName != after.Spec.NodeName ||
		!apiequality.Semantic.DeepEqual(before.Status.ResourceClaimStatuses, after.Status.ResourceClaimStatuses)
}

// onGroup takes an event of the cache of PodGroups.
func (c *Controller) onGroup(before, after *scheduling.PodGroup) {
	if before != nil && (after == nil || after.UID != before.UID) {
		c.gone(keyOf(PodGroup, before), before.UID)
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
	if before != nil && apiequality.Semantic.DeepEqual(before.Status.ResourceClaimStatuses, after.Status.ResourceClaimStatuses) {
		return
	}
	if len(after.Spec.ResourceClaims) > 0 {
		if before == nil {
			c.heard.of(keyOf(PodGroup, after))
		}
		c.queue.Add(keyOf(PodGroup, after))
	}
	c.wakeMembers(before == nil, after)
}

// wakeMembers has the pods of a PodGroup looked at: all that have claims when it has just
// come, else those that it has news for.
func (c *Controller) wakeMembers(isNew bool, group *scheduling.PodGroup) {
	for _, pod := range c.cache.Pods.ByIndex(groups.Index, groups.IndexKey(group.Namespace, group.Name)) {
		if isNew && len(pod.Spec.ResourceClaims) > 0 || claims.LacksGroupClaims(pod, group) {
			c.queue.Add(keyOf(Pod, pod))
		}
	}
}

// gone forgets what is remembered of an object that does not exist any more.
func (c *Controller) gone(key Key, uid types.UID) {
	c.waiting.drop(key)
	c.heard.drop(key)
	c.deleted.Add(uid, nil)
	c.made.drop(uid)
	c.said.news(uid, "")
}

// release has the claims looked at of which an object is a consumer or the owner. A
// claim that becomes so later comes with an event of its own.
func (c *Controller) release(uid types.UID) {
	for _, claim := range c.cache.Claims.ByIndex(claimsByUser, string(uid)) {
		c.queue.Add(keyOf(Claim, claim))
	}
}

// releaseDeleted has the claims looked at that are being deleted and that a pod may use, or might have: it may have kept
// them although it is no consumer.
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

// onClaim takes an event of the cache of claims.
func (c *Controller) onClaim(before, after *resource.ResourceClaim) {
	if before != nil && (after == nil || after.UID != before.UID) {
		c.idle.drop(before.UID)
		c.stood.drop(before.UID)
		if key, ok := ownerKey(before); ok {
			c.heard.of(key) // if it still exists, a new one is due from now on
		}
		c.wakeOwner(before)
		c.wakeUsers(before, func(*core.Pod) bool { return true })
		before = nil
	}
	if after == nil {
		return
	}
	if owner := metav1.GetControllerOfNoCopy(after); before == nil && owner != nil && !c.made.seen(owner.UID, after.Name) {
		c.wakeOwner(after)
	}
	c.markIdle(before, after)
	c.stood.see(after)
	c.queue.Add(keyOf(Claim, after))
	if after.Status.Allocation != nil {
		c.wakeUsers(after, func(pod *core.Pod) bool { return claims.NeedsReservation(pod, claims.SeenClaim(c.on, after)) })
	}
}

// markIdle keeps in mind that an allocated claim has no consumers: it is let go when the last was seen to leave, and else,
// since that may have happened while nobody looked, when it has been so for a time. Only events change that, so that
// they do so in order.
func (c *Controller) markIdle(before, after *resource.ResourceClaim) {
	switch {
	case after.Status.Allocation == nil || len(after.Status.ReservedFor) > 0:
		c.idle.drop(after.UID)
	case before != nil && len(before.Status.ReservedFor) > 0:
		c.idle.after(after.UID, 0)
	default:
		c.idle.after(after.UID, idlePeriod)
		c.queue.AddAfter(keyOf(Claim, after), idlePeriod)
	}
}

func (c *Controller) wakeOwner(claim *resource.ResourceClaim) {
	if key, ok := ownerKey(claim); ok {
		c.queue.Add(key)
	}
}

// ownerKey names the pod or PodGroup that a claim was generated for.
func ownerKey(claim *resource.ResourceClaim) (Key, bool) {
	if name, _, ok := claims.OwnerPod(claim); ok {
		return Key{Pod, claim.Namespace, name}, true
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

// onTemplate takes an event of the cache of ResourceClaimTemplates.
func (c *Controller) onTemplate(_, after *resource.ResourceClaimTemplate) {
	if after != nil {
		c.wakeWaiting(templateKey{after.Namespace, claims.FromTemplate(after).Source})
	}
}

// onClusterTemplate takes an event of the cache of ClusterResourceClaimTemplates.
func (c *Controller) onClusterTemplate(_, after *resourcev1alpha3.ClusterResourceClaimTemplate) {
	if after != nil {
		c.wakeWaiting(templateKey{"", claims.FromClusterTemplate(after).Source})
	}
}

func (c *Controller) wakeWaiting(template templateKey) {
	for _, key := range c.waiting.take(template) {
		c.heard.of(key)
		c.queue.Add(key)
	}
}
