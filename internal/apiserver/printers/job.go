package printers

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/utils/ptr"

	batch "github.com/allot-dev/allot/api/batch/v1"
)

// Job returns the printer of Jobs.
func Job() Printer {
	return typed(append([]metav1.TableColumnDefinition{
		nameColumn(),
		computedColumn("Status", "string", "The status of the Job, by its conditions."),
		column("Completions", "string", batchv1.JobStatus{}, "succeeded"),
		computedColumn("Duration", "string", "The time that the Job took, or has been running."),
		ageColumn(),
	}, templateColumns(column("Selector", "string", batchv1.JobSpec{}, "selector"))...),
		func(j *batch.Job, now time.Time) []any {
			names, images := containers(j.Spec.Template.Spec.Containers)
			return []any{
				j.Name, jobStatus(j), completions(j), jobDuration(&j.Status, now), age(j.CreationTimestamp, now),
				names, images, metav1.FormatLabelSelector(j.Spec.Selector),
			}
		})
}

// jobStatus returns the first status that applies.
func jobStatus(j *batch.Job) string {
	holds := func(t batchv1.JobConditionType) bool {
		for i := range j.Status.Conditions {
			if c := &j.Status.Conditions[i]; c.Type == t {
				return c.Status == corev1.ConditionTrue
			}
		}
		return false
	}
	switch {
	case holds(batchv1.JobComplete):
		return "Complete"
	case holds(batchv1.JobFailed):
		return "Failed"
	case j.DeletionTimestamp != nil:
		return "Terminating"
	case holds(batchv1.JobSuspended):
		return "Suspended"
	case holds(batchv1.JobFailureTarget):
		return "FailureTarget"
	case holds(batchv1.JobSuccessCriteriaMet):
		return "SuccessCriteriaMet"
	default:
		return "Running"
	}
}

// completions returns the text for the completions. A Job without completions is complete when any
// of its pods succeeds.
func completions(j *batch.Job) string {
	if wanted := j.Spec.Completions; wanted != nil {
		return fmt.Sprintf("%d/%d", j.Status.Succeeded, *wanted)
	}
	if parallelism := ptr.Deref(j.Spec.Parallelism, 0); parallelism > 1 {
		return fmt.Sprintf("%d/1 of %d", j.Status.Succeeded, parallelism)
	}
	return fmt.Sprintf("%d/1", j.Status.Succeeded)
}

func jobDuration(s *batchv1.JobStatus, now time.Time) string {
	switch {
	case s.StartTime == nil:
		return ""
	case s.CompletionTime == nil:
		return duration.HumanDuration(now.Sub(s.StartTime.Time))
	default:
		return duration.HumanDuration(s.CompletionTime.Sub(s.StartTime.Time))
	}
}

// CronJob returns the printer of CronJobs.
func CronJob() Printer {
	spec, status := batchv1.CronJobSpec{}, batchv1.CronJobStatus{}
	return typed(append([]metav1.TableColumnDefinition{
		nameColumn(),
		column("Schedule", "string", spec, "schedule"),
		column("Timezone", "string", spec, "timeZone"),
		column("Suspend", "boolean", spec, "suspend"),
		column("Active", "integer", status, "active"),
		column("Last Schedule", "string", status, "lastScheduleTime"),
		ageColumn(),
	}, templateColumns(column("Selector", "string", batchv1.JobSpec{}, "selector"))...),
		func(c *batch.CronJob, now time.Time) []any {
			job := &c.Spec.JobTemplate.Spec
			names, images := containers(job.Template.Spec.Containers)
			last, suspend := "<none>", unset
			if at := c.Status.LastScheduleTime; at != nil {
				last = age(*at, now)
			}
			if s := c.Spec.Suspend; s != nil {
				suspend = map[bool]string{true: "True", false: "False"}[*s]
			}
			return []any{
				c.Name, c.Spec.Schedule, ptr.Deref(c.Spec.TimeZone, "<none>"), suspend,
				int64(len(c.Status.Active)), last, age(c.CreationTimestamp, now),
				names, images, metav1.FormatLabelSelector(job.Selector),
			}
		})
}
