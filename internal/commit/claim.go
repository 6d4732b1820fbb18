package commit

import (
	"context"
	"errors"
	"fmt"
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/utils/ptr"

	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/plan"
)

// maxAttempts limits how often a write is retried after a conflict or a server error.
const maxAttempts = 5

// ErrRefused means that the API contradicts the plan, so that the unit must be placed again.
var ErrRefused = errors.New("conflict")

// ClaimAPI reads and writes claims.
type ClaimAPI interface {
	Get(ctx context.Context, key model.Key) (*resource.ResourceClaim, error)
	Update(ctx context.Context, claim *resource.ResourceClaim) (*resource.ResourceClaim, error)
	UpdateStatus(ctx context.Context, claim *resource.ResourceClaim) (*resource.ResourceClaim, error)
	Create(ctx context.Context, claim *resource.ResourceClaim) (*resource.ResourceClaim, error)
	// Delete deletes the claim if it has not changed.
	Delete(ctx context.Context, claim *resource.ResourceClaim) error
}

// written is a claim after it was written, with the changes to revert if the plan is refused.
type written struct {
	claim     *resource.ResourceClaim
	allocated bool
	added     []model.Consumer
}

// claimWrite writes the allocation and the consumers of one planned claim, unless the API already
// has them.
type claimWrite struct {
	*Committer
	want *plan.Claim
	// known is a version of the claim that was not read from the API, or nil. It is sufficient for
	// a write, because the server rejects outdated versions.
	known *resource.ResourceClaim
	// failed is set once a write failed. Its response may have been lost.
	failed bool
}

// writeClaim makes attempts to write a planned claim until one succeeds or none can.
func (c *Committer) writeClaim(ctx context.Context, want *plan.Claim) (written, error) {
	turn := c.turns.take(want.Key)
	defer c.turns.end(want.Key, turn)
	write := &claimWrite{Committer: c, want: want, known: turn.latest}
	if write.known == nil && want.Make == nil {
		write.known, _ = c.cache.Claim(want.Key)
	}
	for attempt := 0; ; attempt++ {
		w, retry, err := write.attempt(ctx)
		if err == nil {
			turn.latest = w.claim
			return w, nil
		}
		if attempt >= maxAttempts || !retry {
			return c.resultAfter(ctx, want, refusedIfGone(err, "claim %s", want.Key))
		}
		if err := c.pause(ctx, attempt); err != nil {
			return written{}, err
		}
	}
}

// attempt writes the claim over the known version. Without one, and before it concludes that
// nothing has to be written or that the plan is refused, it reads the claim from the API. After an
// error it reports whether another attempt may succeed.
func (c *claimWrite) attempt(ctx context.Context) (w written, retry bool, err error) {
	if known := c.known; known != nil {
		c.known = nil
		w, err = c.writeOver(ctx, known)
		if w.claim != known && !errors.Is(err, ErrRefused) {
			return w, retriable(err), err
		}
	}
	claim, err := c.read(ctx, c.want)
	if err != nil {
		return written{}, c.want.Make != nil && retriable(err), err
	}
	if w, err = c.writeOver(ctx, claim); c.failed && w.claim == claim && c.want.Allocation != nil {
		// The response to an earlier attempt was lost: this is the plan's own write.
		w.allocated, w.added = true, c.want.Reserve
	}
	return w, retriable(err), err
}

// writeOver verifies one version of the claim and writes the plan over it. The result has this
// version if nothing has to be written, and no claim after an error.
func (c *claimWrite) writeOver(ctx context.Context, claim *resource.ResourceClaim) (written, error) {
	if err := verify(claim, c.want); err != nil {
		return written{}, err
	}
	w, err := c.writeClaimOver(ctx, claim, c.want)
	c.failed = c.failed || err != nil
	return w, err
}

// read returns the claim, and creates it if the plan requires it.
func (c *Committer) read(ctx context.Context, want *plan.Claim) (*resource.ResourceClaim, error) {
	if want.Make != nil {
		return c.ensureClaim(ctx, want)
	}
	return c.claims.Get(ctx, want.Key)
}

// writeClaimOver writes the plan over a verified version of the claim.
func (c *Committer) writeClaimOver(
	ctx context.Context, claim *resource.ResourceClaim, want *plan.Claim,
) (written, error) {
	w := written{claim: claim.DeepCopy()}
	if want.Allocation != nil && !slices.Contains(claim.Finalizers, resourcev1.Finalizer) {
		w.claim.Finalizers = append(w.claim.Finalizers, resourcev1.Finalizer)
		protected, err := c.claims.Update(ctx, w.claim)
		if err != nil {
			return written{}, fmt.Errorf("protect claim %s: %w", want.Key, err)
		}
		w.claim = protected.DeepCopy()
	}
	if !c.apply(&w, want) {
		return written{claim: claim}, nil
	}
	var err error
	if w.claim, err = c.claims.UpdateStatus(ctx, w.claim); err != nil {
		return written{}, fmt.Errorf("allocate and reserve claim %s: %w", want.Key, err)
	}
	return w, nil
}

// verify returns an error if the claim no longer satisfies the assumptions of the plan.
func verify(claim *resource.ResourceClaim, want *plan.Claim) error {
	status := &claim.Status
	switch {
	case want.Make != nil && !(isFor(claim, want) && model.ClaimFrom(claim).HasSameRequests(want.Make)):
		return fmt.Errorf("%w: ResourceClaim %s already exists with a different spec", ErrRefused, want.Key)
	case want.Make == nil && claim.UID != want.UID:
		return fmt.Errorf("%w: ResourceClaim %s was recreated", ErrRefused, want.Key)
	case claim.DeletionTimestamp != nil:
		return fmt.Errorf("%w: ResourceClaim %s is being deleted", ErrRefused, want.Key)
	case want.Allocation == nil && status.Allocation == nil:
		return fmt.Errorf("%w: ResourceClaim %s was deallocated", ErrRefused, want.Key)
	case want.Allocation != nil && status.Allocation != nil && !hasPlan(status, want):
		return fmt.Errorf("%w: ResourceClaim %s was allocated by another scheduler", ErrRefused, want.Key)
	case len(status.ReservedFor)+len(missing(status.ReservedFor, want.Reserve)) > model.MaxConsumers:
		return fmt.Errorf("%w: ResourceClaim %s has the maximum number of consumers", ErrRefused, want.Key)
	}
	return nil
}

// hasPlan reports whether a status has the plan's devices and consumers. No other plan would select
// the same devices for the same consumers.
func hasPlan(status *resource.ResourceClaimStatus, want *plan.Claim) bool {
	have := status.Allocation.Devices.Results
	return len(want.Reserve) > 0 && len(missing(status.ReservedFor, want.Reserve)) == 0 &&
		slices.EqualFunc(have, want.Allocation.Devices, func(a, b resourcev1.DeviceRequestAllocationResult) bool {
			return a.Request == b.Request && model.DeviceIDOf(a) == model.DeviceIDOf(b)
		})
}

// apply adds the plan to the status of the claim and reports whether that changed it.
func (c *Committer) apply(w *written, want *plan.Claim) bool {
	status, changed := &w.claim.Status, false
	if want.Allocation != nil && status.Allocation == nil {
		status.Allocation = want.Allocation.Result()
		status.Allocation.AllocationTimestamp = ptr.To(metav1.NewTime(c.clock.Now()))
		w.allocated, changed = true, true
	}
	w.added = missing(status.ReservedFor, want.Reserve)
	status.ReservedFor = append(status.ReservedFor, w.added...)
	return changed || len(w.added) > 0
}

// retriable reports whether a write may succeed over a newer version or later.
func retriable(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) ||
		apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err) ||
		utilnet.IsConnectionReset(err) || utilnet.IsConnectionRefused(err) || utilnet.IsProbableEOF(err)
}

// refusedIfGone turns the errors NotFound and Invalid into ErrRefused.
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
