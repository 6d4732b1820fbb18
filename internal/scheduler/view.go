package scheduler

import (
	"context"

	"github.com/allot-dev/allot/internal/model"
)

// View returns the whole State as text, as it is between two steps of the loop (F67). The loop must
// run.
func (s *Scheduler) View(ctx context.Context) (string, error) {
	view := make(chan string, 1)
	s.feed.Enqueue(func() []model.Topic {
		view <- s.state.Dump()
		return nil
	})
	select {
	case text := <-view:
		return text, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
