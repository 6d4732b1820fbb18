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
	"github.com/allot-dev/allot/internal/sched/plan"
)

// A claim for extended resources, and an expected claim of a pod, are created when the plan is
// written. Their names are derived from the pod, so that a claim left by an earlier attempt is found
// and no pod gets two.

// ensureClaim returns the claim required by the plan: an existing one with the same requests, or a
// new one. An existing claim without devices but with other requests was created for another kind
// of node, and is replaced.
func (c *Committer) ensureClaim(ctx context.Context, want *plan.Claim) (*resource.ResourceClaim, error) {
	claim, err := c.claims.Get(ctx, want.Key)
	switch {
	case err == nil && isOutdated(claim, want):
		if err := c.remove(ctx, claim); err != nil {
			return nil, err
		}
	case !apierrors.IsNotFound(err):
		return claim, err
	}
	claim, err = c.claims.Create(ctx, newObject(want))
	if apierrors.IsAlreadyExists(err) {
		return c.claims.Get(ctx, want.Key)
	}
	return claim, err
}

// newObject returns the claim to create, without its status.
func newObject(want *plan.Claim) *resource.ResourceClaim {
	if want.Make.Generated != nil {
		return want.Make.Generated.DeepCopy()
	}
	return want.Make.ForExtended(want.Reserve[0])
}

// isOutdated reports whether a claim was created for the same pod on another kind of node, and is
// not allocated.
func isOutdated(claim *resource.ResourceClaim, want *plan.Claim) bool {
	return want.Make.Generated == nil && claim.DeletionTimestamp == nil && claim.Status.Allocation == nil &&
		isFor(claim, want) &&
		!model.ClaimFrom(claim).HasSameRequests(want.Make)
}

// isFor reports whether the claim was created for the pod, and for the same reason.
func isFor(claim *resource.ResourceClaim, want *plan.Claim) bool {
	owner := metav1.GetControllerOfNoCopy(claim)
	return owner != nil && owner.UID == want.Make.Controller && isExtended(claim) == (want.Make.Generated == nil)
}

// isExtended reports whether a plan created the claim for extended resources.
func isExtended(claim *resource.ResourceClaim) bool {
	return claim.Annotations[resourcev1.ExtendedResourceClaimAnnotation] == "true"
}

// remove deletes a claim that a plan created and that has no consumers. The finalizer is removed
// first: without devices there is nothing to protect. It is no error if the claim is already
// deleted or in use.
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
			return ignoreNotFound(err, key)
		}
	}
	if err := c.claims.Delete(ctx, claim); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete claim %s: %w", key, err)
	}
	return nil
}
