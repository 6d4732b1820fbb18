package commit

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
)

// Held is a claim that has devices for consumers who make no use of them.
type Held struct {
	Key     model.Key
	UID     types.UID
	Holders []model.Consumer
}

// GiveBack takes the allocation and the reservations off a claim, unless somebody who is not one of the holders has
// reserved it meanwhile. It gives the claim as the API has it then, nil if it is gone.
func (c *Committer) GiveBack(ctx context.Context, held *Held) (*resource.ResourceClaim, error) {
	claim, live := c.cache.Claim(held.Key)
	if !live {
		var err error
		if claim, err = c.claims.Get(ctx, held.Key); err != nil {
			return nil, ignoreGone(err, held.Key)
		}
	}
	return c.change(ctx, claim, func(claim *resource.ResourceClaim) bool {
		status := &claim.Status
		if claim.UID != held.UID || status.Allocation == nil || len(missing(held.Holders, status.ReservedFor)) > 0 {
			return false
		}
		status.Allocation, status.ReservedFor, status.Devices = nil, nil, nil
		return true
	})
}

// takeBack undoes what this plan has written to a claim. An allocation on which somebody else relies by now stays.
func (c *Committer) takeBack(ctx context.Context, w written, want *sched.ClaimPlan) error {
	if !w.allocated && len(w.added) == 0 {
		return nil
	}
	_, err := c.change(ctx, w.claim, func(claim *resource.ResourceClaim) bool {
		status := &claim.Status
		if claim.UID != want.UID {
			return false
		}
		before := len(status.ReservedFor)
		status.ReservedFor = missing(w.added, status.ReservedFor)
		if w.allocated && len(status.ReservedFor) == 0 && status.Allocation != nil {
			status.Allocation, status.Devices = nil, nil
			return true
		}
		return len(status.ReservedFor) < before
	})
	return err
}

// change writes a claim's status, over newer versions of the claim if need be, and gives the claim as it is then, nil
// if it is gone. Nothing is written if edit answers false.
func (c *Committer) change(ctx context.Context, claim *resource.ResourceClaim, edit func(*resource.ResourceClaim) bool) (*resource.ResourceClaim, error) {
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
			return nil, ignoreGone(err, key)
		}
		if err := c.pause(ctx, attempt); err != nil {
			return nil, err
		}
		if claim, err = c.claims.Get(ctx, key); err != nil {
			return nil, ignoreGone(err, key)
		}
	}
}

func ignoreGone(err error, key model.Key) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("let go of claim %s: %w", key, err)
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
