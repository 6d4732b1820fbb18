package commit

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/plan"
)

// A write without a response may have been made. If the scheduler relied on the cache, which shows
// the write later, it would reallocate the devices of a pod that is starting. Such a write is
// therefore looked up until the API answers or the process ends.

// ErrElsewhere means that a pod is bound to another node than planned.
var ErrElsewhere = errors.New("the pod is on another node")

// reader reads objects, and repeats a read until the API answers.
type reader struct {
	claims ClaimAPI
	binds  Binder
	sleep  func(context.Context, time.Duration) error
}

// retryDelay is the first delay before a retry. It doubles up to 32 times the value.
const retryDelay = 20 * time.Millisecond

// pause waits before the next attempt, with exponential backoff.
func (r *reader) pause(ctx context.Context, attempt int) error {
	return r.sleep(ctx, retryDelay<<min(attempt, maxAttempts))
}

// repeatRead repeats a read until it succeeds. It fails only if ctx ends.
func (r *reader) repeatRead(ctx context.Context, question func() error) error {
	for attempt := 0; ; attempt++ {
		if question() == nil {
			return nil
		}
		if err := r.pause(ctx, attempt); err != nil {
			return err
		}
	}
}

// outcome returns the result of a bind that failed: nil if the pod is on its node after all.
func (r *reader) outcome(ctx context.Context, bind *plan.Pod, failure error) error {
	var node string
	err := r.repeatRead(ctx, func() (err error) {
		node, err = r.binds.BoundTo(ctx, bind.Pod, bind.UID)
		return err
	})
	switch {
	case err != nil:
		return fmt.Errorf("look for pod %s: %w", bind.Pod, errors.Join(failure, err))
	case node == bind.Node:
		return nil
	case node != "":
		return fmt.Errorf("%w: bind pod %s to node %s: %w", ErrElsewhere, bind.Pod, bind.Node, failure)
	}
	return refusedIfGone(failure, "bind pod %s to node %s", bind.Pod, bind.Node)
}

// LookUp reads a claim from the API; nil if it does not exist. It fails only if ctx ends.
func (c *Committer) LookUp(ctx context.Context, key model.Key) (*resource.ResourceClaim, error) {
	return c.lookUp(ctx, key)
}

// lookUp reads a claim from the API; nil if it does not exist. It fails only if ctx ends.
func (r *reader) lookUp(ctx context.Context, key model.Key) (claim *resource.ResourceClaim, err error) {
	err = r.repeatRead(ctx, func() (err error) {
		if claim, err = r.claims.Get(ctx, key); apierrors.IsNotFound(err) {
			claim, err = nil, nil
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look for claim %s: %w", key, err)
	}
	return claim, nil
}

// resultAfter returns what a failed write has left in a claim. The write counts as made if the
// plan's allocation is there.
func (c *Committer) resultAfter(ctx context.Context, want *plan.Claim, failure error) (written, error) {
	if want.Allocation == nil || refused(failure) {
		return written{}, failure
	}
	claim, err := c.lookUp(ctx, want.Key)
	if err != nil {
		return written{}, errors.Join(failure, err)
	}
	if claim == nil || claim.Status.Allocation == nil || verify(claim, want) != nil {
		return written{}, failure
	}
	return written{claim: claim, allocated: true, added: want.Reserve}, nil
}

// refused reports whether the server rejected a write. After any other error the write may have
// been made.
func refused(err error) bool { return errors.Is(err, ErrRefused) || client.IsRefusal(err) }
