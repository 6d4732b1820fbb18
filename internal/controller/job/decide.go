package job

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	batch "github.com/allot-dev/allot/api/batch/v1"
	core "github.com/allot-dev/allot/api/core/v1"
)

// burst limits the pods that one pass creates, drops or releases.
const burst = 500

// Plan has the actions of one pass, in this order: it stops, drops and creates pods, writes the
// status, and releases pods recorded in the status. A pass may be interrupted after any step; the
// next one continues from the observed state.
type Plan struct {
	Stop   []*core.Pod // pods to delete because the Job has ended; their end is still counted
	Drop   []*core.Pod // pods to release and then delete; their end is not counted
	Create []Creation

	// Status is the status before pods are stopped, dropped and created; see Outcome.Status.
	Status batchv1.JobStatus
	// Backoff is recorded, and Events are published, when the status is written.
	Backoff Backoff
	Events  []Event
	Release []*core.Pod // pods to release after the status is written

	// Again is the time until the next pass without another event; 0 for none.
	Again time.Duration
	// Active lists the pods that run or will run, Room is the maximum number of them.
	Active []*core.Pod
	Room   int
	// Idle means that no pods should exist, because the Job is suspended or ends.
	Idle bool
}

// Event is an event to publish for the Job.
type Event struct{ Type, Reason, Message string }

// Decide compares the Job with its pods. Its input must include all of the controller's own writes.
func Decide(job *batch.Job, pods []*core.Pod, backoff Backoff, now time.Time) Plan {
	p := &pass{job: job, tally: newTally(job, pods), now: metav1.NewTime(now)}
	p.Status = *job.Status.DeepCopy()
	p.Backoff = backoff.After(p.tally.newSucceeded, p.tally.newFailed)
	p.Active, p.Room = p.tally.active, p.tally.maxActive()
	p.start()
	if p.evaluate() || p.complete() {
		p.stopActive()
	} else if job.DeletionTimestamp == nil {
		p.adjustActive()
		p.suspension()
	}
	p.tallyUp()
	p.conclude()
	return p.Plan
}

// pass is a decision in progress.
type pass struct {
	Plan
	job    *batch.Job
	tally  *tally
	now    metav1.Time
	ending *batchv1.JobCondition // SuccessCriteriaMet or FailureTarget
}

// start sets the start time of the Job, from which its deadline counts.
func (p *pass) start() {
	if p.Status.StartTime == nil && !isSuspended(p.job) {
		p.Status.StartTime = &p.now
	}
}

func (p *pass) requeueAfter(after time.Duration) { p.Again = shorter(p.Again, after) }

// stopActive deletes the remaining active pods.
func (p *pass) stopActive() {
	p.Stop, p.Idle = p.tally.active, true
}

// adjustActive adjusts the number of active pods. One pass either drops or creates.
func (p *pass) adjustActive() {
	want := p.tally.want()
	if isSuspended(p.job) {
		want, p.Idle = 0, true
	}
	if surplus := p.tally.surplus(want); len(surplus) > 0 {
		p.Drop = surplus[:min(len(surplus), burst)]
		return
	}
	missing := want - len(p.tally.active)
	if waitsForEnd(p.job) {
		missing -= len(p.tally.terminating)
	}
	if missing <= 0 {
		return
	}
	var again time.Duration
	p.Create, again = p.tally.creations(min(missing, burst), p.Backoff, p.now.Time)
	p.requeueAfter(again)
}

// suspension maintains the condition Suspended. The time of a suspension does not count towards the
// deadline.
func (p *pass) suspension() {
	i := slices.IndexFunc(p.Status.Conditions, func(c batchv1.JobCondition) bool { return c.Type == batchv1.JobSuspended })
	was := i >= 0 && p.Status.Conditions[i].Status == corev1.ConditionTrue
	if was == isSuspended(p.job) {
		return
	}
	c := p.condition(batchv1.JobSuspended, "JobSuspended", "Job suspended")
	p.Status.StartTime = nil
	event := "Suspended"
	if was {
		c.Status, c.Reason, c.Message, event = corev1.ConditionFalse, "JobResumed", "Job resumed", "Resumed"
		p.Status.StartTime = &p.now
	}
	if i >= 0 {
		p.Status.Conditions[i] = c
	} else {
		p.Status.Conditions = append(p.Status.Conditions, c)
	}
	p.addEvent(corev1.EventTypeNormal, event, c.Message)
}

func (p *pass) condition(t batchv1.JobConditionType, reason, message string) batchv1.JobCondition {
	return batchv1.JobCondition{
		Type: t, Status: corev1.ConditionTrue, Reason: reason, Message: message, LastProbeTime: p.now,
		LastTransitionTime: p.now,
	}
}

func (p *pass) addEvent(kind, reason, message string) {
	p.Events = append(p.Events, Event{kind, reason, message})
}
