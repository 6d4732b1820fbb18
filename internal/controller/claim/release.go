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
	"github.com/allot-dev/allot/internal/features"
)

// reconcileClaim takes off consumers that are gone, and frees the claim after the last.
func (c *Controller) reconcileClaim(ctx context.Context, key Key) error {
	claim, ok := c.cache.Claims.Get(key.Namespace, key.Name)
	if !ok {
		return nil
	}
	known := c.users(claim)
	seen := claims.SeenClaim(c.on, claim)
	decision := claims.Release(seen, known)
	if len(decision.Ask) > 0 {
		for _, ref := range decision.Ask {
			if err := c.find(ctx, claim, ref, known); err != nil {
				return fmt.Errorf("%s: look for %s %s: %w", key, ref.Resource, ref.Name, err)
			}
		}
		decision = claims.Release(seen, known)
	}
	var unread error
	if len(decision.Foreign) > 0 && c.on.On(features.ReservedForWorkloads) {
		unread = c.findForeign(ctx, key, decision.Foreign, known)
		decision = claims.Release(seen, known)
	}
	// What cannot be read must not keep the others from leaving (F13).
	if err := errors.Join(ignoreGone(c.apply(ctx, claim, decision)), unread); err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}

// users collects what the caches know of a claim's consumers, owner and users.
func (c *Controller) users(claim *resource.ResourceClaim) claims.Known {
	known := claims.Known{
		Pods: map[string]*core.Pod{}, Groups: map[string]*scheduling.PodGroup{}, Gone: map[types.UID]bool{}, Live: map[types.UID]bool{},
		Users:   c.cache.Pods.ByIndex(claims.PodIndex, claims.PodIndexKey(claim.Namespace, claim.Name)),
		Emptied: c.emptied.contains(claim.UID), GroupsStay: !c.on.On(features.WorkloadClaims),
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
		if _, ok := c.deleted.Get(ref.UID); ok {
			known.Gone[ref.UID] = true
		}
		switch {
		case claims.IsPodConsumer(ref):
			addPod(ref.Name)
		case claims.IsGroupConsumer(ref):
			if group, ok := c.cache.Groups.Get(claim.Namespace, ref.Name); ok {
				known.Groups[ref.Name] = group
			}
		}
	}
	return known
}

// find reads a consumer live and adds what it finds to known.
func (c *Controller) find(ctx context.Context, claim *resource.ResourceClaim, ref resourcev1.ResourceClaimConsumerReference, known claims.Known) error {
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

// findForeign looks for consumers of other kinds, now and again after a time: nothing tells
// when they go (K5194). Each is looked for once in a period, however many claims it has and
// however often they change.
func (c *Controller) findForeign(ctx context.Context, key Key, refs []resourcev1.ResourceClaimConsumerReference, known claims.Known) error {
	var unread []error
	for _, ref := range refs {
		if wait := c.looked.again(ref.UID); wait > 0 {
			c.queue.AddAfter(key, wait)
			continue
		}
		gone, err := c.server.Foreign.ForeignGone(ctx, key.Namespace, ref)
		if err != nil {
			unread = append(unread, fmt.Errorf("look for %s %s: %w", ref.Resource, ref.Name, err))
		}
		if !gone {
			c.queue.AddAfter(key, foreignPeriod)
			continue
		}
		known.Gone[ref.UID] = true
		c.deleted.Add(ref.UID, nil)
		c.release(ref.UID) // its other claims
	}
	return errors.Join(unread...)
}

// apply writes a decision, each step from what the step before returned.
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
