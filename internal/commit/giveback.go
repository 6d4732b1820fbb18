package commit

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/holding"
	"github.com/allot-dev/allot/internal/sched/plan"
)

// GiveBack removes the holders' reservations from a claim and deallocates it, unless other
// consumers remain. A claim created by a plan is deleted. It returns the claim as the API has it,
// or nil if it does not exist.
func (c *Committer) GiveBack(ctx context.Context, held *holding.Claim) (*resource.ResourceClaim, error) {
	claim, err := c.releaseHolders(ctx, held)
	if err != nil && !refused(err) {
		claim, err = c.lookUp(ctx, held.Key)
	}
	if err != nil || claim == nil || claim.UID != held.UID || !isExtended(claim) {
		return claim, err
	}
	return claim, c.remove(ctx, claim)
}

func (c *Committer) releaseHolders(ctx context.Context, held *holding.Claim) (*resource.ResourceClaim, error) {
	edit := func(claim *resource.ResourceClaim) bool {
		return claim.UID == held.UID && removeConsumers(&claim.Status, held.Holders, true)
	}
	if claim, ok := c.cache.Claim(held.Key); ok {
		if now, err := c.change(ctx, claim, edit); err != nil || now != claim {
			return now, err
		}
	}
	claim, err := c.claims.Get(ctx, held.Key)
	if err != nil {
		return nil, ignoreNotFound(err, held.Key)
	}
	return c.change(ctx, claim, edit)
}

// takeBack reverts the plan's writes to a claim, even if ctx has ended, and returns the new
// version, or nil if nothing was written or the claim was deleted. An allocation with other
// consumers is kept.
func (c *Committer) takeBack(ctx context.Context, w written, want *plan.Claim) (*resource.ResourceClaim, error) {
	if !w.allocated && len(w.added) == 0 {
		return nil, nil
	}
	lasting := context.WithoutCancel(ctx)
	claim, err := c.change(lasting, w.claim, func(claim *resource.ResourceClaim) bool {
		return claim.UID == w.claim.UID && removeConsumers(&claim.Status, w.added, w.allocated)
	})
	if err != nil && !refused(err) {
		claim, err = c.lookUp(ctx, want.Key)
	}
	if err != nil || claim == nil || claim.UID != w.claim.UID || want.Make == nil || want.Make.Generated != nil {
		return claim, err
	}
	return claim, c.remove(lasting, claim)
}

// removeConsumers removes consumers from the status, and the allocation if devices is set and no
// consumer is left. It reports whether the status changed.
func removeConsumers(status *resource.ResourceClaimStatus, leave []model.Consumer, devices bool) bool {
	left := missing(leave, status.ReservedFor)
	changed := len(left) < len(status.ReservedFor)
	status.ReservedFor = left
	if devices && len(left) == 0 && status.Allocation != nil {
		status.Allocation, status.Devices = nil, nil
		changed = true
	}
	return changed
}

// change updates a claim's status, retrying over newer versions, and returns the new version, or
// nil if the claim does not exist. Nothing is written if edit returns false.
func (c *Committer) change(
	ctx context.Context, claim *resource.ResourceClaim, edit func(*resource.ResourceClaim) bool,
) (*resource.ResourceClaim, error) {
	key := model.Key{Namespace: claim.Namespace, Name: claim.Name}
	for attempt := 0; ; attempt++ {
		edited := claim.DeepCopy()
		if !edit(edited) {
			return claim, nil
		}
		changed, err := c.claims.UpdateStatus(ctx, edited)
		if err == nil {
			return changed, nil
		}
		if attempt == maxAttempts || !retriable(err) {
			return nil, ignoreNotFound(err, key)
		}
		if err := c.pause(ctx, attempt); err != nil {
			return nil, err
		}
		if claim, err = c.claims.Get(ctx, key); err != nil {
			return nil, ignoreNotFound(err, key)
		}
	}
}

func ignoreNotFound(err error, key model.Key) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("let go of claim %s: %w", key, err)
}

// missing returns the consumers of want that are not in have.
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
