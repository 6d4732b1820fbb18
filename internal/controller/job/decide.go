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

// burst is the most pods that one pass creates, drops or lets go of.
const burst = 500

// Plan is what one pass does, in this order: it stops, drops and creates pods, writes the status, and lets go of pods that
// the status now has. A pass may end after any step; the next one goes on from what it finds.
type Plan struct {
	Stop   []*core.Pod // deleted because the Job has ended; their end is still to be counted
	Drop   []*core.Pod // let go of, then deleted: their end does not count
	Create []Creation

	// Status is what there is before pods are stopped, dropped and created; see Outcome.Status.
	Status batchv1.JobStatus
	// Backoff is to be remembered when the status is written, and Events told.
	Backoff Backoff
	Events  []Event
	Release []*core.Pod // lose the finalizer once the status is written

	// Again is after which time the Job is to be looked at without further cause; 0 for never.
	Again time.Duration
	// Active are the pods that run or will run, Room how many of them the Job may have at once.
	Active []*core.Pod
	Room   int
	// Idle: there are to be no pods, because the Job is suspended or has met its end.
	Idle bool
}

// Event is to be told about the Job.
type Event struct{ Type, Reason, Message string }

// Decide compares the Job with its pods. All of the controller's own writes must be in what it is given.
func Decide(job *batch.Job, pods []*core.Pod, backoff Backoff, now time.Time) Plan {
	p := &pass{job: job, tally: newTally(job, pods), now: metav1.NewTime(now)}
	p.Status = *job.Status.DeepCopy()
	p.Backoff = backoff.After(p.tally.newSucceeded, p.tally.newFailed)
	p.Active, p.Room = p.tally.active, p.tally.room()
	p.start()
	if p.judge() || p.complete() {
		p.stop()
	} else if job.DeletionTimestamp == nil {
		p.manage()
		p.suspension()
	}
	p.tallyUp()
	p.conclude()
	return p.Plan
}

// pass is a decision while it is made.
type pass struct {
	Plan
	job    *batch.Job
	tally  *tally
	now    metav1.Time
	ending *batchv1.JobCondition // SuccessCriteriaMet or FailureTarget
}

// start notes when the Job begins to run, which its deadline counts from.
func (p *pass) start() {
	if p.Status.StartTime == nil && !isSuspended(p.job) {
		p.Status.StartTime = &p.now
	}
}

func (p *pass) again(after time.Duration) { p.Again = shorter(p.Again, after) }

// stop deletes what still runs.
func (p *pass) stop() {
	p.Stop, p.Idle = p.tally.active, true
}

// manage brings the number of active pods to what is wanted. One pass either drops or creates.
func (p *pass) manage() {
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
	p.again(again)
}

// suspension keeps the condition Suspended. Time that the Job is suspended does not count towards its deadline.
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
	p.tell(corev1.EventTypeNormal, event, c.Message)
}

func (p *pass) condition(t batchv1.JobConditionType, reason, message string) batchv1.JobCondition {
	return batchv1.JobCondition{
		Type: t, Status: corev1.ConditionTrue, Reason: reason, Message: message, LastProbeTime: p.now, LastTransitionTime: p.now,
	}
}

func (p *pass) tell(kind, reason, message string) {
	p.Events = append(p.Events, Event{kind, reason, message})
}
