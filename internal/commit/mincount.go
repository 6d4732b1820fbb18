package commit

import (
	"context"
	"fmt"

	"github.com/allot-dev/allot/internal/sched"
)

// checkMinCount looks up whether the gang still has the minCount for which the plan was made. Pods and PodGroups come by
// separate watches, so a pod that was made after minCount was raised may be seen before that: without the look-up it would
// depend on chance whether such a pod is placed alone.
func (c *Committer) checkMinCount(ctx context.Context, plan *sched.Plan) error {
	if plan.MinCount == 0 {
		return nil
	}
	var now int
	err := c.ask(ctx, func() (err error) {
		if now, err = c.binds.MinCount(ctx, plan.Unit.Key, plan.Group); refused(err) {
			now, err = 0, nil // a group that does not exist any more is no gang; nothing of it changes the quorum
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
