package commit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/plan"
)

// checkReliances verifies that the consumers on which the plan relies are still in
// status.reservedFor. A pod that exists at this time keeps the claim if the consumer is removed
// before the pod is bound; see docs/adr/0007.
func (c *Committer) checkReliances(ctx context.Context, list []plan.Reliance) error {
	var mu sync.Mutex
	var errs []error
	checked := 0
	c.each(ctx, len(list), func(i int) {
		claim, err := c.lookUp(ctx, list[i].Key)
		if err == nil {
			err = checkReliance(claim, &list[i])
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

// checkReliance returns an error if the current claim does not permit binding the pod; nil if the
// claim does not exist.
func checkReliance(claim *resource.ResourceClaim, on *plan.Reliance) error {
	switch {
	case claim == nil || claim.UID != on.UID:
		return fmt.Errorf("%w: ResourceClaim %s was deleted or recreated", ErrRefused, on.Key)
	case claim.DeletionTimestamp != nil:
		return fmt.Errorf("%w: ResourceClaim %s is being deleted", ErrRefused, on.Key)
	case claim.Status.Allocation == nil:
		return fmt.Errorf("%w: ResourceClaim %s was deallocated", ErrRefused, on.Key)
	case !slices.ContainsFunc(claim.Status.ReservedFor, func(c model.Consumer) bool { return c.UID == on.Consumer.UID }):
		return fmt.Errorf("%w: ResourceClaim %s is no longer reserved for %s %s", ErrRefused, on.Key, on.Consumer.Resource,
			on.Consumer.Name)
	}
	return nil
}
