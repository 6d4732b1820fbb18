package commit

import (
	"context"
	"fmt"
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
)

// A claim in the place of extended resources is made when the plan is written, under a name that follows from the pod: so
// one that an earlier attempt has left is found, and no pod gets two.

// make gives the claim that the plan wants made: what is there already if that asks for the same, or a new one. What asks for
// something else, and has no devices, was made for another kind of node, and is replaced.
func (c *Committer) make(ctx context.Context, want *sched.ClaimPlan) (*resource.ResourceClaim, error) {
	claim, err := c.claims.Get(ctx, want.Key)
	switch {
	case err == nil && outlived(claim, want):
		if err := c.remove(ctx, claim); err != nil {
			return nil, err
		}
	case !apierrors.IsNotFound(err):
		return claim, err
	}
	claim, err = c.claims.Create(ctx, want.Make.ForExtended(want.Reserve[0]))
	if apierrors.IsAlreadyExists(err) {
		return c.claims.Get(ctx, want.Key)
	}
	return claim, err
}

// outlived says whether a claim was made for the same pod, but for another kind of node, and holds nothing.
func outlived(claim *resource.ResourceClaim, want *sched.ClaimPlan) bool {
	return claim.DeletionTimestamp == nil && claim.Status.Allocation == nil && isFor(claim, want) && !model.ClaimFrom(claim).AsksLike(want.Make)
}

// isFor says whether the claim was made for the pod, as a plan makes it.
func isFor(claim *resource.ResourceClaim, want *sched.ClaimPlan) bool {
	owner := metav1.GetControllerOfNoCopy(claim)
	return owner != nil && owner.UID == want.Make.Controller && isExtended(claim)
}

// isExtended says whether a plan has made the claim, in the place of extended resources.
func isExtended(claim *resource.ResourceClaim) bool {
	return claim.Annotations[resourcev1.ExtendedResourceClaimAnnotation] == "true"
}

// remove deletes a claim that a plan has made and that nobody has reserved. Its finalizer goes first: without devices there
// is nothing to protect. One that is gone, or used by now, is no error.
func (c *Committer) remove(ctx context.Context, claim *resource.ResourceClaim) error {
	if claim.Status.Allocation != nil || len(claim.Status.ReservedFor) > 0 {
		return nil
	}
	key := model.Key{Namespace: claim.Namespace, Name: claim.Name}
	if at := slices.Index(claim.Finalizers, resourcev1.Finalizer); at >= 0 {
		bare := claim.DeepCopy()
		bare.Finalizers = slices.Delete(bare.Finalizers, at, at+1)
		var err error
		if claim, err = c.claims.Update(ctx, bare); err != nil {
			return ignoreGone(err, key)
		}
	}
	if err := c.claims.Delete(ctx, claim); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete claim %s: %w", key, err)
	}
	return nil
}
