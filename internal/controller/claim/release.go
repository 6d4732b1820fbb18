package claim

import (
	"context"
	"errors"
	"fmt"
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/claims"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/features"
	"github.com/allot-dev/allot/internal/groups"
)

// reconcileClaim removes consumers that no longer exist, and deallocates the claim after the last
// one.
func (c *Controller) reconcileClaim(ctx context.Context, key Key) error {
	claim, ok := c.cache.Claims.Get(key.Namespace, key.Name)
	if !ok {
		return nil
	}
	known := c.users(claim)
	decision, unread, err := c.decide(ctx, claim, known)
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	// A consumer that cannot be read must not keep others from being removed (F13).
	if err := errors.Join(client.IgnoreNotFound(c.apply(ctx, claim, decision)), unread); err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}

// decide reads what the decision requests until it is complete. unread is the error for consumers
// of other kinds that could not be read.
func (c *Controller) decide(
	ctx context.Context, claim *resource.ResourceClaim, known claims.Known,
) (d claims.Decision, unread, err error) {
	seen := claims.SeenClaim(c.features, claim)
	for looked := false; ; {
		d = claims.Release(seen, known)
		switch {
		case len(d.Ask) > 0:
			for _, ref := range d.Ask {
				if err := c.find(ctx, claim, ref, known); err != nil {
					return d, nil, fmt.Errorf("look for %s %s: %w", ref.Resource, ref.Name, err)
				}
			}
		case len(d.Foreign) > 0 && !looked && c.features.On(features.ReservedForWorkloads):
			looked, unread = true, c.findForeign(ctx, claim, d.Foreign, known)
			// the current pods, because pods may have been added during the request
			known.Users, known.Current = c.podsOf(claim), false
		case d.AskUsers:
			if known.Users, err = c.usersSince(ctx, claim); err != nil {
				return d, nil, err
			}
			known.Current = true
		default:
			return d, unread, nil
		}
	}
}

// users returns what the caches know about the claim's consumers, owner and users.
func (c *Controller) users(claim *resource.ResourceClaim) claims.Known {
	known := claims.Known{
		Pods: map[string]*core.Pod{}, Groups: map[string]*scheduling.PodGroup{}, Gone: map[types.UID]bool{},
		Live:    map[types.UID]bool{},
		Users:   c.podsOf(claim),
		Emptied: c.idle.isDue(claim.UID), GroupsStay: !c.features.On(features.WorkloadClaims),
	}
	addPod := func(name string) {
		if pod, ok := c.cache.Pods.Get(claim.Namespace, name); ok {
			known.Pods[name] = pod
		}
	}
	if name, uid, ok := claims.OwnerPod(claim); ok {
		addPod(name)
		if _, gone := c.deleted.Get(uid); gone {
			known.Gone[uid] = true
		}
	}
	for _, ref := range claim.Status.ReservedFor {
		_, gone := c.deleted.Get(ref.UID)
		switch {
		case claims.IsPodConsumer(ref):
			known.Gone[ref.UID] = gone
			addPod(ref.Name)
		case claims.IsGroupConsumer(ref):
			known.Gone[ref.UID] = gone
			if group, ok := c.cache.Groups.Get(claim.Namespace, ref.Name); ok {
				known.Groups[ref.Name] = group
			}
		}
	}
	return known
}

// podsOf returns the cached pods that may use the claim.
func (c *Controller) podsOf(claim *resource.ResourceClaim) []*core.Pod {
	return usersAmong(claim, podLists{
		byKey: func(key string) []*core.Pod { return c.cache.Pods.ByIndex(claims.PodIndex, key) },
		ofGroup: func(group string) []*core.Pod {
			return c.cache.Pods.ByIndex(groups.Index, groups.IndexKey(claim.Namespace, group))
		},
		podGroup: c.podGroups(claim.Namespace),
	})
}

// find reads a consumer from the API and adds the result to known.
func (c *Controller) find(
	ctx context.Context, claim *resource.ResourceClaim, ref resourcev1.ResourceClaimConsumerReference, known claims.Known,
) error {
	var err error
	if claims.IsGroupConsumer(ref) {
		var group *scheduling.PodGroup
		if group, err = c.server.Live.LiveGroup(ctx, claim.Namespace, ref.Name); err == nil {
			known.Groups[ref.Name] = group
		}
	} else {
		var pod *core.Pod
		if pod, err = c.server.Live.LivePod(ctx, claim.Namespace, ref.Name); err == nil {
			known.Pods[ref.Name] = pod
		}
	}
	if apierrors.IsNotFound(err) {
		known.Gone[ref.UID] = true
		return nil
	}
	known.Live[ref.UID] = err == nil
	return err
}

// findForeign checks consumers of other kinds periodically, because no event reports their deletion
// (K5194). A consumer is first checked after it has been in the claim for one period, and then once
// per period for all its claims. A CompositePodGroup is checked when it is deleted.
func (c *Controller) findForeign(
	ctx context.Context, claim *resource.ResourceClaim, refs []resourcev1.ResourceClaimConsumerReference,
	known claims.Known,
) error {
	key := keyOf(Claim, claim)
	var unread []error
	for _, ref := range refs {
		left := c.foreignSince.remaining(claim.UID, ref.UID, foreignPeriod)
		if left > 0 && !c.lacksTree(claim.Namespace, ref) {
			c.queue.AddAfter(key, left)
			continue
		}
		gone, err := c.foreignGone(ctx, claim.Namespace, ref)
		if err != nil {
			unread = append(unread, fmt.Errorf("look for %s %s: %w", ref.Resource, ref.Name, err))
		}
		if gone {
			known.Gone[ref.UID] = true
		} else {
			c.queue.AddAfter(key, foreignPeriod)
		}
	}
	return errors.Join(unread...)
}

// lacksTree reports whether the consumer is a CompositePodGroup that the cache does not have. Events
// report the deletion of those, so that nothing waits for the next check.
func (c *Controller) lacksTree(namespace string, ref resourcev1.ResourceClaimConsumerReference) bool {
	if c.cache.Trees == nil || !claims.IsTreeConsumer(ref) {
		return false
	}
	tree, ok := c.cache.Trees.Get(namespace, ref.Name)
	return !ok || tree.UID != ref.UID
}

// foreignGone checks a consumer, unless it is known to be deleted or was checked recently.
func (c *Controller) foreignGone(
	ctx context.Context, namespace string, ref resourcev1.ResourceClaimConsumerReference,
) (bool, error) {
	if _, gone := c.deleted.Get(ref.UID); gone {
		return true, nil
	}
	if !c.foreignChecked.due(ref.UID) {
		return false, nil
	}
	gone, err := c.server.Foreign.ForeignGone(ctx, namespace, ref)
	if err != nil {
		c.foreignChecked.forget(ref.UID)
	}
	if gone {
		c.deleted.Add(ref.UID, nil)
		c.release(ref.UID) // its other claims
	}
	return gone, err
}

// apply writes a decision. Each step is based on the result of the previous one.
func (c *Controller) apply(ctx context.Context, claim *resource.ResourceClaim, d claims.Decision) error {
	if d.StatusChanges() {
		updated := claim.DeepCopy()
		updated.Status.ReservedFor = d.Reserved
		if d.Deallocate {
			updated.Status.Allocation, updated.Status.Devices = nil, nil
		}
		var err error
		if claim, err = c.server.Claims.UpdateClaimStatus(ctx, updated); err != nil {
			return fmt.Errorf("update status: %w", err)
		}
	}
	if d.FinalizerOff {
		updated := claim.DeepCopy()
		updated.Finalizers = slices.DeleteFunc(updated.Finalizers, func(f string) bool { return f == claims.Finalizer })
		if err := c.server.Claims.UpdateClaim(ctx, updated); err != nil {
			return fmt.Errorf("take finalizer off: %w", err)
		}
	}
	if d.Delete {
		if err := c.server.Claims.DeleteClaim(ctx, claim); err != nil {
			return fmt.Errorf("delete: %w", err)
		}
	}
	return nil
}
