package commit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
)

// checkReliances looks up whether what the plan relies on still stands in its claims. A pod that exists when its consumer is
// seen to stand keeps the claim, if the consumer leaves before the pod is bound: see docs/adr/0007.
func (c *Committer) checkReliances(ctx context.Context, list []sched.Reliance) error {
	var mu sync.Mutex
	var errs []error
	checked := 0
	c.each(ctx, len(list), func(i int) {
		claim, err := c.lookUp(ctx, list[i].Key)
		if err == nil {
			err = stands(claim, &list[i])
		}
		mu.Lock()
		defer mu.Unlock()
		checked++
		errs = append(errs, err)
	})
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if checked < len(list) {
		return ctx.Err()
	}
	return nil
}

// stands returns an error if a pod may not be bound on the strength of the claim as it is, nil if it does not exist.
func stands(claim *resource.ResourceClaim, on *sched.Reliance) error {
	switch {
	case claim == nil || claim.UID != on.UID:
		return fmt.Errorf("%w: claim %s was deleted or replaced", ErrRefused, on.Key)
	case claim.DeletionTimestamp != nil:
		return fmt.Errorf("%w: claim %s is being deleted", ErrRefused, on.Key)
	case claim.Status.Allocation == nil:
		return fmt.Errorf("%w: claim %s was deallocated", ErrRefused, on.Key)
	case !slices.ContainsFunc(claim.Status.ReservedFor, func(c model.Consumer) bool { return c.UID == on.Consumer.UID }):
		return fmt.Errorf("%w: claim %s is no longer reserved for %s %s", ErrRefused, on.Key, on.Consumer.Resource, on.Consumer.Name)
	}
	return nil
}
