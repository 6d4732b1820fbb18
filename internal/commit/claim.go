package commit

import (
	"context"
	"errors"
	"fmt"
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
)

// maxAttempts is how often a write is tried again over a newer object, or after the
// server could not answer.
const maxAttempts = 5

// ErrRefused says that the API contradicts the plan: it has to be made anew.
var ErrRefused = errors.New("the plan does not hold any more")

// claimAPI is how claims are read and written.
type claimAPI interface {
	Get(ctx context.Context, key model.Key) (*resource.ResourceClaim, error)
	Update(ctx context.Context, claim *resource.ResourceClaim) (*resource.ResourceClaim, error)
	UpdateStatus(ctx context.Context, claim *resource.ResourceClaim) (*resource.ResourceClaim, error)
}

// writeClaim brings the API to what the plan says of one claim, and gives the claim as it
// is then. It changes nothing if the API shows the planned state already.
func (c *Committer) writeClaim(ctx context.Context, want *sched.ClaimPlan) (*resource.ResourceClaim, error) {
	claim, live := c.cached(want.Key)
	for attempt := 0; ; attempt++ {
		if !live {
			var err error
			if claim, err = c.claims.Get(ctx, want.Key); err != nil {
				return nil, refusedIfGone(err, "claim %s", want.Key)
			}
		}
		written, err := c.writeClaimOver(ctx, claim, want)
		if err == nil || attempt == maxAttempts || !retriable(err) {
			return written, refusedIfGone(err, "claim %s", want.Key)
		}
		live = false
		if err := c.pause(ctx, attempt); err != nil {
			return nil, err
		}
	}
}

// cached gives the claim as the cache has it, and whether it has it.
func (c *Committer) cached(key model.Key) (*resource.ResourceClaim, bool) {
	claim, ok := c.cache.Claim(key)
	return claim, ok
}

func (c *Committer) writeClaimOver(ctx context.Context, claim *resource.ResourceClaim, want *sched.ClaimPlan) (*resource.ResourceClaim, error) {
	if err := verify(claim, want); err != nil {
		return nil, err
	}
	claim = claim.DeepCopy()
	if want.Allocation != nil && !slices.Contains(claim.Finalizers, resourcev1.Finalizer) {
		claim.Finalizers = append(claim.Finalizers, resourcev1.Finalizer)
		protected, err := c.claims.Update(ctx, claim)
		if err != nil {
			return nil, fmt.Errorf("protect claim %s: %w", want.Key, err)
		}
		claim = protected.DeepCopy()
	}
	if !c.lay(&claim.Status, want) {
		return claim, nil
	}
	written, err := c.claims.UpdateStatus(ctx, claim)
	if err != nil {
		return nil, fmt.Errorf("allocate and reserve claim %s: %w", want.Key, err)
	}
	return written, nil
}

// verify checks that what the plan relied on still holds.
func verify(claim *resource.ResourceClaim, want *sched.ClaimPlan) error {
	status := &claim.Status
	switch {
	case claim.UID != want.UID:
		return fmt.Errorf("%w: claim %s was replaced", ErrRefused, want.Key)
	case claim.DeletionTimestamp != nil:
		return fmt.Errorf("%w: claim %s is being deleted", ErrRefused, want.Key)
	case want.Allocation == nil && status.Allocation == nil:
		return fmt.Errorf("%w: claim %s was deallocated", ErrRefused, want.Key)
	case want.Allocation != nil && status.Allocation != nil:
		return fmt.Errorf("%w: claim %s was allocated by somebody else", ErrRefused, want.Key)
	case len(status.ReservedFor)+len(missing(status.ReservedFor, want.Reserve)) > model.MaxConsumers:
		return fmt.Errorf("%w: claim %s has no room for another consumer", ErrRefused, want.Key)
	}
	return nil
}

// lay puts the plan over a status, and says whether that changed it.
func (c *Committer) lay(status *resource.ResourceClaimStatus, want *sched.ClaimPlan) bool {
	changed := false
	if want.Allocation != nil {
		status.Allocation = &resource.AllocationResult{
			AllocationResult: resourcev1.AllocationResult{
				Devices:             resourcev1.DeviceAllocationResult{Results: want.Allocation.Devices, Config: want.Allocation.Config},
				NodeSelector:        want.Allocation.NodeSelector,
				AllocationTimestamp: ptr.To(metav1.NewTime(c.clock.Now())),
			},
		}
		changed = true
	}
	if want.AnyPod && !ptr.Deref(status.Allocation.ReservedForAnyPod, false) {
		status.Allocation.ReservedForAnyPod = ptr.To(true)
		changed = true
	}
	if add := missing(status.ReservedFor, want.Reserve); len(add) > 0 {
		status.ReservedFor = append(status.ReservedFor, add...)
		changed = true
	}
	return changed
}

// missing gives those of want that are not in have.
func missing(have, want []model.Consumer) []model.Consumer {
	var out []model.Consumer
	for _, w := range want {
		if !slices.ContainsFunc(have, func(h model.Consumer) bool {
			return h.UID == w.UID && h.Resource == w.Resource && h.APIGroup == w.APIGroup
		}) {
			out = append(out, w)
		}
	}
	return out
}

// takeBack undoes what writeClaim wrote, unless somebody has changed the claim since.
func (c *Committer) takeBack(ctx context.Context, written *resource.ResourceClaim, want *sched.ClaimPlan) error {
	claim := written.DeepCopy()
	claim.Status.ReservedFor = slices.DeleteFunc(claim.Status.ReservedFor, func(have model.Consumer) bool {
		return len(missing([]model.Consumer{have}, want.Reserve)) < len(want.Reserve)
	})
	if want.Allocation != nil && len(claim.Status.ReservedFor) == 0 {
		claim.Status.Allocation = nil
		claim.Status.Devices = nil
	}
	if _, err := c.claims.UpdateStatus(ctx, claim); err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		return fmt.Errorf("take back what was written to claim %s: %w", want.Key, err)
	}
	return nil
}

// retriable says whether a write may succeed over a newer object, or later.
func retriable(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) ||
		apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err)
}

// refusedIfGone turns "not found" and "invalid" into a refusal of the plan.
func refusedIfGone(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	what := fmt.Sprintf(format, args...)
	if apierrors.IsNotFound(err) || apierrors.IsInvalid(err) {
		return fmt.Errorf("%w: %s: %w", ErrRefused, what, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}
