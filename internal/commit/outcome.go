package commit

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
)

// A write that got no answer may have been made. Whoever went by the cache then, which shows it later, would give a pod's
// devices away while it starts. So such a write is looked up until there is an answer, or the process ends.

// ErrElsewhere says that a pod is on another node than it was to be bound to.
var ErrElsewhere = errors.New("the pod is on another node")

// ask repeats a question until it is answered. It fails only when ctx ends.
func (c *Committer) ask(ctx context.Context, question func() error) error {
	for attempt := 0; ; attempt++ {
		if question() == nil {
			return nil
		}
		if err := c.pause(ctx, attempt); err != nil {
			return err
		}
	}
}

// outcome says what became of a bind that failed: nil if the pod is on its node after all.
func (c *Committer) outcome(ctx context.Context, bind *sched.Placement, failure error) error {
	var node string
	err := c.ask(ctx, func() (err error) {
		node, err = c.binds.BoundTo(ctx, bind.Pod, bind.UID)
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

// LookUp returns a claim as the API has it, nil if it does not exist. It fails only when ctx ends.
func (c *Committer) LookUp(ctx context.Context, key model.Key) (*resource.ResourceClaim, error) {
	return c.lookUp(ctx, key)
}

// lookUp gives a claim as the API has it, nil if it is gone. It fails only when ctx ends.
func (c *Committer) lookUp(ctx context.Context, key model.Key) (claim *resource.ResourceClaim, err error) {
	err = c.ask(ctx, func() (err error) {
		if claim, err = c.claims.Get(ctx, key); apierrors.IsNotFound(err) {
			claim, err = nil, nil
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look for claim %s: %w", key, err)
	}
	return claim, nil
}

// after gives what a failed write has left in a claim: it counts as written if the plan's allocation is there.
func (c *Committer) after(ctx context.Context, want *sched.ClaimPlan, failure error) (written, error) {
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

// refused says whether the server has answered that it does not make a write. Any other failure leaves that open.
func refused(err error) bool {
	var status apierrors.APIStatus
	if errors.Is(err, ErrRefused) {
		return true
	}
	return errors.As(err, &status) && status.Status().Code >= 400 && status.Status().Code < 500
}
