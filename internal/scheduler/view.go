package scheduler

import (
	"context"
)

// View returns the whole State as text, as it is between two steps of the loop (F67). The loop must
// run.
func (s *Scheduler) View(ctx context.Context) (string, error) {
	return onLoop(ctx, s.loop, s.state.Dump)
}
