package scheduler

import (
	"time"

	"github.com/allot-dev/allot/internal/inventory"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
	"github.com/allot-dev/allot/internal/sched/plan"
	"github.com/allot-dev/allot/internal/sched/reason"
)

// history records the attempts to place a waiting unit. Only metrics use it.
type history struct {
	since time.Time // the first attempt
	times int       // attempts, each with all its slices
	cause string    // why the last one failed; see reason.Causes
}

// Reasons why a unit waits in addition to reason.Causes.
const (
	waitsQueued     = "Queued"     // it is to be tried
	waitsWriting    = "Writing"    // its plan, or the devices that it gives back, are being written
	waitsPreempting = "Preempting" // it waits for its victims
	waitsRetrying   = "Retrying"   // it waits for the end of a pause, because a write was refused
)

// historyOf returns the history of a unit, which is created if there is none.
func (q *unitQueue) historyOf(key model.UnitKey) *history {
	h := q.histories[key]
	if h == nil {
		h = &history{since: q.clock.Now()}
		q.histories[key] = h
	}
	return h
}

// tried records an attempt at a unit that took some time.
func (q *unitQueue) tried(key model.UnitKey, reasons *sched.Reasons) {
	h := q.historyOf(key)
	if reasons != nil && reasons.Unfinished {
		return
	}
	h.times++
	h.cause = ""
	if reasons != nil {
		h.cause = reasons.Cause()
	}
}

// attempts returns how a plan of the unit came about.
func (q *unitQueue) attempts(key model.UnitKey, took time.Duration) plan.Attempts {
	h := q.historyOf(key)
	return plan.Attempts{Since: h.since, Times: h.times, Took: took}
}

// waitReason returns why the pods of a unit have no node: a cause, or one of the reasons above.
func (q *unitQueue) waitReason(key model.UnitKey) string {
	if _, nominated := q.state.Nominations.Get(key); nominated {
		return waitsPreempting
	}
	switch {
	case q.isHeld(key) && q.failures[key] > 0:
		return waitsRetrying
	case q.isHeld(key):
		return waitsWriting
	case q.queue.Queued(key):
		return waitsQueued
	}
	if h := q.histories[key]; h != nil && h.cause != "" {
		return h.cause
	}
	return string(reason.Waiting)
}

// queueOf returns the part of the queue that a pod without a node is in.
func (q *unitQueue) queueOf(pod *model.Pod, key model.UnitKey) inventory.PodQueue {
	if pod.Gated {
		return inventory.GatedPods
	}
	switch q.waitReason(key) {
	case waitsQueued:
		return inventory.Active
	case waitsWriting, waitsPreempting:
		return inventory.Pending
	case waitsRetrying, string(reason.Undecided):
		return inventory.Backoff
	case string(reason.GroupMissing):
		return inventory.Incomplete
	case string(reason.BelowQuorum), string(reason.Gated):
		return inventory.GatedPods
	}
	return inventory.Unschedulable
}
