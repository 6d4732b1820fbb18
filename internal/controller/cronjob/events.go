package cronjob

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	batch "github.com/allot-dev/allot/api/batch/v1"
	"github.com/allot-dev/allot/internal/controller/expectations"
	"github.com/allot-dev/allot/internal/controller/reconciler"
	"github.com/allot-dev/allot/internal/cron"
)

// onCronJob handles a change in the cache of CronJobs. A new schedule counts from its next time on,
// so that no Job is started for a time that only the new schedule has and that has passed.
func (c *Controller) onCronJob(before, after *batch.CronJob) {
	expectations.Observe(c.statuses, before, after)
	if before != nil && (after == nil || after.UID != before.UID) {
		c.statuses.Forget(before.UID)
		before = nil
	}
	if after == nil {
		return
	}
	if before == nil || !isRescheduled(before, after) {
		c.queue.Add(reconciler.KeyOf(after))
		return
	}
	schedule, err := cron.Parse(cron.In(after.Spec.Schedule, after.Spec.TimeZone))
	if err != nil {
		c.events.Eventf(after, corev1.EventTypeWarning, "UnParseableCronJobSchedule",
			"unparseable schedule for cronjob: %s", after.Spec.Schedule)
		return
	}
	table := timetable{cron: after, schedule: schedule, now: c.clock.Now()}
	if again := table.untilNext(); again > 0 {
		c.queue.AddAfter(reconciler.KeyOf(after), again)
	}
}

func isRescheduled(before, after *batch.CronJob) bool {
	return before.Spec.Schedule != after.Spec.Schedule || !ptr.Equal(before.Spec.TimeZone, after.Spec.TimeZone)
}

// onJob handles a change in the cache of Jobs.
func (c *Controller) onJob(before, after *batch.Job) {
	for _, job := range []*batch.Job{before, after} {
		if job == nil {
			continue
		}
		if owner := metav1.GetControllerOfNoCopy(job); owner != nil && owner.Kind == kind.Kind {
			c.queue.Add(types.NamespacedName{Namespace: job.Namespace, Name: owner.Name})
		}
	}
}
