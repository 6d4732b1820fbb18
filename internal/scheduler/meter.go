package scheduler

import (
	"context"
	"time"

	"k8s.io/utils/clock"

	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/commit"
	"github.com/allot-dev/allot/internal/inventory"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
	"github.com/allot-dev/allot/internal/sched/holding"
	"github.com/allot-dev/allot/internal/sched/plan"
)

// Meter counts what the scheduler does. It is safe for concurrent use. A unit is a "pod" or a
// "gang".
type Meter interface {
	// Tried records an attempt to place a unit: "placed", "unschedulable", "undecided" or
	// "unfinished", and the steps of its search.
	Tried(unit, result string, took time.Duration, steps int)
	// Ended records the end of an attempt, whatever it consisted of.
	Ended(outcome inventory.Outcome)
	// Committed records the end of writing a plan, "written", "refused" or "incomplete", and the
	// number of bound pods.
	Committed(result string, took time.Duration, pods int)
	// Created records claims that were created for extended resources of pods.
	Created(claims int)
	// Searched records a search for victims, and whether it found any.
	Searched(unit string, found bool, took time.Duration)
	// Preempted records the victims of a unit: pods, and PodGroups as a whole.
	Preempted(unit string, pods, groups int)
	// Evicted records pods that were deleted because of "preemption", a "rollback", or the
	// "relocation" of their gang.
	Evicted(cause string, pods int)
	// RolledBack records a gang whose bound pods are deleted because it cannot be completed.
	RolledBack()
	// Freed records a claim that was deallocated: "unused", or "reclaimed" from a group.
	Freed(cause string)
	// Waiting records how many units are in the queue, and how many are parked.
	Waiting(active, parked int)
}

// Causes of evictions and of freed claims.
const (
	causePreemption = "preemption"
	causeRelocation = "relocation"
	causeRollback   = "rollback"
	causeUnused     = "unused"
	causeReclaimed  = "reclaimed"
)

// noMeter is a Meter that counts nothing.
type noMeter struct{}

func (noMeter) Tried(string, string, time.Duration, int) {}
func (noMeter) Ended(inventory.Outcome)                  {}
func (noMeter) Committed(string, time.Duration, int)     {}
func (noMeter) Created(int)                              {}
func (noMeter) Searched(string, bool, time.Duration)     {}
func (noMeter) Preempted(string, int, int)               {}
func (noMeter) Evicted(string, int)                      {}
func (noMeter) RolledBack()                              {}
func (noMeter) Freed(string)                             {}
func (noMeter) Waiting(int, int)                         {}

// place runs one slice of the placement of a unit, and records the attempt.
func (s *Scheduler) place(unit *model.Unit, slice int) (*plan.Plan, *sched.Reasons) {
	begun := s.clock.Now()
	made, reasons := s.placer.PlaceSlice(unit, slice)
	took := s.clock.Since(begun)
	s.tried(unit.Key, reasons)
	result := "placed"
	switch {
	case made != nil:
		made.Attempts = s.attempts(unit.Key, took)
	case reasons == nil:
	case reasons.Unfinished:
		result = "unfinished"
	case reasons.Code == sched.CodeUndecided:
		result = "undecided"
	default:
		result = "unschedulable"
	}
	s.meter.Tried(kindOf(unit.Key), result, took, s.placer.Spent())
	s.spans.tried(unit, result, begun, begun.Add(took), s.placer.Spent(), reasons)
	return made, reasons
}

// notPlaced returns the outcome of an attempt that began at some time and bound no pod.
func (q *unitQueue) notPlaced(unit *model.Unit, begun time.Time) inventory.Outcome {
	outcome := inventory.Outcome{
		Profile: q.status.groups.name, Unit: kindOf(unit.Key), Result: inventory.NotFitting, Pods: len(unit.Pods),
		Took: q.clock.Since(begun),
	}
	if q.waitReason(unit.Key) == waitsPreempting {
		outcome.Result = inventory.WaitingOnPreemption
	}
	return outcome
}

func kindOf(unit model.UnitKey) string {
	if unit.Group || unit.Tree {
		return "gang"
	}
	return "pod"
}

// counted is a committer that records its results, with a span for each write.
type counted struct {
	committer
	clock   clock.PassiveClock
	meter   Meter
	spans   *spans
	profile string
}

func (c counted) Commit(ctx context.Context, plan *plan.Plan) commit.Result {
	begun := c.clock.Now()
	result := c.spans.write(ctx, len(plan.Pods), func(ctx context.Context) commit.Result {
		return c.committer.Commit(ctx, plan)
	})
	c.created(plan, result)
	c.bound(plan, result, begun)
	return result
}

func (c counted) Claims(ctx context.Context, plan *plan.Plan) commit.Result {
	begun := c.clock.Now()
	result := c.spans.write(ctx, 0, func(ctx context.Context) commit.Result { return c.committer.Claims(ctx, plan) })
	c.created(plan, result)
	if result.Refused != nil {
		c.refused(plan, begun)
	}
	return result
}

func (c counted) Binds(ctx context.Context, plan *plan.Plan) commit.Result {
	begun := c.clock.Now()
	result := c.spans.write(ctx, len(plan.Pods), func(ctx context.Context) commit.Result {
		return c.committer.Binds(ctx, plan)
	})
	c.bound(plan, result, begun)
	return result
}

func (c counted) GiveBack(ctx context.Context, held *holding.Claim) (*resource.ResourceClaim, error) {
	claim, err := c.committer.GiveBack(ctx, held)
	if err == nil && claim != nil && claim.UID == held.UID && claim.Status.Allocation == nil {
		cause := causeUnused
		if held.Reclaimed {
			cause = causeReclaimed
		}
		c.meter.Freed(cause)
	}
	return claim, err
}

// created records the claims that a plan created.
func (c counted) created(plan *plan.Plan, result commit.Result) {
	made := 0
	for i := range plan.Claims {
		if plan.Claims[i].Make != nil {
			made++
		}
	}
	if made > 0 && result.Refused == nil {
		c.meter.Created(made)
	}
}

// bound records the end of a plan.
func (c counted) bound(plan *plan.Plan, result commit.Result, begun time.Time) {
	failed := len(result.Failed)
	if result.Refused != nil {
		c.refused(plan, begun)
		return
	}
	what := "written"
	if failed > 0 {
		what = "incomplete"
		c.ended(plan, inventory.Failed, failed, begun)
	}
	if pods := len(plan.Pods) - failed; pods > 0 {
		c.ended(plan, inventory.Scheduled, pods, begun)
	}
	c.meter.Committed(what, c.clock.Since(begun), len(plan.Pods)-failed)
}

func (c counted) refused(plan *plan.Plan, begun time.Time) {
	c.ended(plan, inventory.Failed, len(plan.Pods), begun)
	c.meter.Committed("refused", c.clock.Since(begun), 0)
}

// ended records the end of an attempt for some pods of a plan.
func (c counted) ended(plan *plan.Plan, result inventory.Result, pods int, begun time.Time) {
	now := c.clock.Now()
	c.meter.Ended(inventory.Outcome{
		Profile: c.profile, Unit: kindOf(plan.Unit), Result: result, Pods: pods, Took: plan.Attempts.Took + now.Sub(begun),
		Waited: now.Sub(plan.Attempts.Since), Attempts: plan.Attempts.Times,
	})
}
