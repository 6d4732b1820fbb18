package cronjob

import (
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	batch "github.com/allot-dev/allot/api/batch/v1"
	"github.com/allot-dev/allot/internal/cron"
)

// Gathered is the input of Decide.
type Gathered struct {
	CronJob *batch.CronJob
	// Jobs are the Jobs that the CronJob controls, by name.
	Jobs []*batch.Job
	// Missing has the UIDs in status.active of Jobs that do not exist.
	Missing map[types.UID]bool
	Now     time.Time
}

// Event is an event about the CronJob.
type Event struct {
	Type, Reason, Message string
}

// Plan is the set of changes that one pass makes.
type Plan struct {
	Delete  []*batch.Job             // ended Jobs that the history does not keep
	Replace []corev1.ObjectReference // running Jobs that are deleted before the new Job is created
	Create  *batch.Job               // the new Job, or nil
	Time    time.Time                // time of the schedule for which Create is
	Status  batchv1.CronJobStatus    // before these changes
	Events  []Event
	Again   time.Duration // time until the next pass; zero means until something changes
}

func (p *Plan) warn(reason, format string, args ...any) {
	p.Events = append(p.Events, Event{corev1.EventTypeWarning, reason, fmt.Sprintf(format, args...)})
}

func (p *Plan) note(reason, format string, args ...any) {
	p.Events = append(p.Events, Event{corev1.EventTypeNormal, reason, fmt.Sprintf(format, args...)})
}

// Decide returns what is to be done for a CronJob.
func Decide(g Gathered) Plan {
	p := Plan{Status: *g.CronJob.Status.DeepCopy(), Delete: surplus(g.CronJob, g.Jobs)}
	for _, job := range p.Delete {
		p.Status.Active = withoutJob(p.Status.Active, job.UID)
	}
	p.follow(g)
	if g.CronJob.DeletionTimestamp == nil {
		p.startDue(g)
	}
	return p
}

// startDue plans the Job for the time that is due, if there is one.
func (p *Plan) startDue(g Gathered) {
	schedule, ok := p.parse(g.CronJob)
	if !ok {
		return
	}
	table := timetable{cron: g.CronJob, schedule: schedule, now: g.Now}
	d, err := table.due(true)
	if err != nil {
		p.warn("InvalidSchedule", "invalid schedule: %s : %v", g.CronJob.Spec.Schedule, err)
		return
	}
	p.Again = table.untilNext()
	if d.at.IsZero() {
		return
	}
	if d.missed > manyMissed {
		p.warn("TooManyMissedTimes",
			"too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew")
	}
	if table.isTooLate(d.at) {
		p.warn("MissSchedule", "Missed scheduled time to start a job: %s", d.at.UTC().Format(time.RFC1123Z))
		return
	}
	p.start(g.CronJob, d.at)
}

// parse returns the schedule in its time zone. A suspended CronJob has none; otherwise an event has
// the reason for which there is none.
func (p *Plan) parse(c *batch.CronJob) (cron.Schedule, bool) {
	if zone := c.Spec.TimeZone; zone != nil {
		if _, err := time.LoadLocation(*zone); err != nil {
			p.warn("UnknownTimeZone", "invalid timeZone: %q: %s", *zone, err)
			return nil, false
		}
	}
	if ptr.Deref(c.Spec.Suspend, false) {
		return nil, false
	}
	if cron.HasZone(c.Spec.Schedule) {
		p.warn("UnsupportedSchedule", "CRON_TZ or TZ used in schedule %q is not officially supported, see "+
			"https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details", c.Spec.Schedule)
	}
	schedule, err := cron.Parse(cron.In(c.Spec.Schedule, c.Spec.TimeZone))
	if err != nil {
		p.warn("UnparseableSchedule", "unparseable schedule: %q : %s", c.Spec.Schedule, err)
		return nil, false
	}
	return schedule, true
}

// start plans the Job for a time, unless it was started before, or the policy forbids it now.
func (p *Plan) start(c *batch.CronJob, at time.Time) {
	started := slices.ContainsFunc(p.Status.Active, func(ref corev1.ObjectReference) bool {
		return ref.Name == jobName(c, at) && ref.Namespace == c.Namespace
	})
	if last := p.Status.LastScheduleTime; started || last != nil && last.Time.Equal(at) {
		return
	}
	switch c.Spec.ConcurrencyPolicy {
	case batchv1.ForbidConcurrent:
		if len(p.Status.Active) > 0 {
			p.note("JobAlreadyActive",
				"Not starting job because prior execution is running and concurrency policy is Forbid")
			return
		}
	case batchv1.ReplaceConcurrent:
		p.Replace = slices.Clone(p.Status.Active)
	}
	p.Create, p.Time = newJob(c, at), at
}
