package commit

import (
	"context"
	"fmt"

	"github.com/allot-dev/allot/internal/sched/plan"
)

// checkMinCount verifies that the gang still has the minCount for which the plan was made. Pods and
// PodGroups are received by separate watches, so that a pod created after minCount was raised may
// be seen first. Without the check, it would depend on timing whether such a pod is placed alone.
func (c *Committer) checkMinCount(ctx context.Context, plan *plan.Plan) error {
	if plan.MinCount == 0 {
		return nil
	}
	var now int
	err := c.repeatRead(ctx, func() (err error) {
		if now, err = c.binds.MinCount(ctx, plan.Unit.Key, plan.Group); refused(err) {
			now, err = 0, nil // a PodGroup that does not exist has no quorum
		}
		return err
	})
	switch {
	case err != nil:
		return fmt.Errorf("look for PodGroup %s: %w", plan.Unit.Key, err)
	case now != 0 && now != plan.MinCount:
		return fmt.Errorf("%w: minCount of PodGroup %s is %d, and was %d", ErrRefused, plan.Unit.Key, now, plan.MinCount)
	}
	return nil
}
