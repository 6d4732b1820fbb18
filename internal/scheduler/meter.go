package scheduler

import (
	"context"
	"time"

	"k8s.io/utils/clock"

	"github.com/allot-dev/allot/internal/commit"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
	"github.com/allot-dev/allot/internal/sched/plan"
)

// Meter counts what the scheduler does. It is safe for concurrent use.
type Meter interface {
	// Tried records an attempt to place a unit ("pod" or "gang"): "placed", "unschedulable",
	// "undecided" or "unfinished".
	Tried(unit, result string, took time.Duration)
	// Committed records the end of writing a plan, "written", "refused" or "incomplete", and the
	// number of bound pods.
	Committed(result string, took time.Duration, pods int)
	// Preempted records the victims of a unit ("pod" or "gang"): pods, and PodGroups as a whole.
	Preempted(unit string, pods, groups int)
	// Waiting records how many units are in the queue, and how many are parked.
	Waiting(active, parked int)
}

// uncounted is a Meter that counts nothing.
type uncounted struct{}

func (uncounted) Tried(string, string, time.Duration)  {}
func (uncounted) Committed(string, time.Duration, int) {}
func (uncounted) Preempted(string, int, int)           {}
func (uncounted) Waiting(int, int)                     {}

// place runs one slice of the placement of a unit, and records the attempt.
func (s *Scheduler) place(unit *model.Unit, slice int) (*plan.Plan, *sched.Reasons) {
	begun := s.clock.Now()
	plan, reasons := s.placer.PlaceSlice(unit, slice)
	result := "placed"
	switch {
	case reasons == nil || plan != nil:
	case reasons.Unfinished:
		result = "unfinished"
	case reasons.Code == sched.CodeUndecided:
		result = "undecided"
	default:
		result = "unschedulable"
	}
	s.meter.Tried(kindOf(unit.Key), result, s.clock.Since(begun))
	return plan, reasons
}

func kindOf(unit model.UnitKey) string {
	if unit.Group || unit.Tree {
		return "gang"
	}
	return "pod"
}

// counted is a committer that records its results.
type counted struct {
	committer
	clock clock.PassiveClock
	meter Meter
}

func (c counted) Commit(ctx context.Context, plan *plan.Plan) commit.Result {
	begun := c.clock.Now()
	result := c.committer.Commit(ctx, plan)
	c.bound(plan, result, begun)
	return result
}

func (c counted) Claims(ctx context.Context, plan *plan.Plan) commit.Result {
	begun := c.clock.Now()
	result := c.committer.Claims(ctx, plan)
	if result.Refused != nil {
		c.meter.Committed("refused", c.clock.Since(begun), 0)
	}
	return result
}

func (c counted) Binds(ctx context.Context, plan *plan.Plan) commit.Result {
	begun := c.clock.Now()
	result := c.committer.Binds(ctx, plan)
	c.bound(plan, result, begun)
	return result
}

// bound records the end of a plan.
func (c counted) bound(plan *plan.Plan, result commit.Result, begun time.Time) {
	what, pods := "written", len(plan.Pods)-len(result.Failed)
	switch {
	case result.Refused != nil:
		what, pods = "refused", 0
	case len(result.Failed) > 0:
		what = "incomplete"
	}
	c.meter.Committed(what, c.clock.Since(begun), pods)
}
