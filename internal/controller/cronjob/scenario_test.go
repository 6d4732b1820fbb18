package cronjob

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	batch "github.com/allot-dev/allot/api/batch/v1"
	"github.com/allot-dev/allot/internal/controller/controllertest"
	"github.com/allot-dev/allot/internal/testkit/line"
)

// TestScenarios runs the files in testdata, with the verbs of controllertest and those below. They
// begin at midnight, UTC, of January 1, 2026, a Thursday.
//
//	cronjob NAME [schedule='* * * * *'] [zone=Europe/Berlin] [policy=Forbid] [deadline=60] [uid=u]
//	    [keep=3,1] [suspend=true] [deleting] [active=JOB,…]   creates or changes a CronJob
//	job NAME [owner=c] [started=time] [ends=Complete|Failed] [deleting]   creates or changes a Job
func TestScenarios(t *testing.T) { controllertest.Walk(t, "testdata", newScenario) }

// world is the objects of a scenario.
type world struct {
	*controllertest.Scenario
	cronJobs *controllertest.Kind[*batch.CronJob]
	jobs     *controllertest.Kind[*batch.Job]
}

// allJobs deletes Jobs with their pods.
type allJobs struct {
	*controllertest.Kind[*batch.Job]
}

func (j allJobs) DeleteAll(ctx context.Context, ref corev1.ObjectReference) error {
	return j.Delete(ctx, &batch.Job{ObjectMeta: metav1.ObjectMeta{Name: ref.Name, UID: ref.UID}})
}

func newScenario() *controllertest.Scenario {
	s := controllertest.New("c", 0)
	s.AllEvents = true
	w := &world{
		Scenario: s,
		cronJobs: controllertest.NewKind[*batch.CronJob](s, "cronjob", batchv1.Resource("cronjobs")),
		jobs:     controllertest.NewKind[*batch.Job](s, "job", batchv1.Resource("jobs")),
	}
	c := &Controller{
		cronJobs: w.cronJobs.Cache, jobs: w.jobs.Cache, server: w.cronJobs, writeJob: allJobs{w.jobs},
		events: w, clock: w.Now, queue: w, statuses: newStatuses(w.Now),
	}
	s.Reconcile = c.Reconcile
	s.Objects["cronjob"], s.Objects["job"] = w.putCronJob, w.putJob
	w.cronJobs.OnChange, w.jobs.OnChange = c.onCronJob, c.onJob
	w.cronJobs.Reads, w.jobs.Reads, w.jobs.Lossy = true, true, true
	w.cronJobs.Texts = map[string]func(_, _ *batch.CronJob) string{"status": statusText}
	w.jobs.Texts = map[string]func(_, _ *batch.Job) string{
		"create": func(_, job *batch.Job) string {
			return " at " + job.Annotations[batchv1.CronJobScheduledTimestampAnnotation]
		},
		"list": func(_, job *batch.Job) string {
			return fmt.Sprintf(" owners=%v labels=%v annotations=%v", controllertest.Owners(job), job.Labels, job.Annotations)
		},
	}
	return s
}

func statusText(_, c *batch.CronJob) string {
	var active []string
	for _, ref := range c.Status.Active {
		active = append(active, ref.Name)
	}
	at := func(t *metav1.Time) string {
		if t == nil {
			return "never"
		}
		return t.UTC().Format(time.DateTime)
	}
	return fmt.Sprintf(": active=[%s] last=%s successful=%s", strings.Join(active, " "), at(c.Status.LastScheduleTime),
		at(c.Status.LastSuccessfulTime))
}

func (w *world) putCronJob(l *line.Line) {
	uid := l.Text("uid", "")
	c := w.cronJobs.Edit(l.Name(), func() *batch.CronJob { return &batch.CronJob{} })
	if uid != "" || c.UID == "" {
		c = &batch.CronJob{ObjectMeta: metav1.ObjectMeta{Name: l.Name(), UID: types.UID(uid)}}
		c.Spec.Schedule, c.Spec.ConcurrencyPolicy = "* * * * *", batchv1.AllowConcurrent
		c.Spec.JobTemplate.Labels = map[string]string{"app": l.Name()}
		c.Spec.JobTemplate.Annotations = map[string]string{"team": "a"}
	}
	c.Spec.Schedule = l.Text("schedule", c.Spec.Schedule)
	c.Spec.ConcurrencyPolicy = batchv1.ConcurrencyPolicy(l.Text("policy", string(c.Spec.ConcurrencyPolicy)))
	if l.Has("zone") {
		c.Spec.TimeZone = ptr.To(l.Text("zone", ""))
	}
	if l.Has("deadline") {
		c.Spec.StartingDeadlineSeconds = ptr.To(l.Number("deadline", 0))
	}
	if l.Has("suspend") {
		c.Spec.Suspend = ptr.To(l.Text("suspend", "") == "true")
	}
	if keep := l.List("keep"); len(keep) == 2 {
		c.Spec.SuccessfulJobsHistoryLimit, c.Spec.FailedJobsHistoryLimit = number(l, keep[0]), number(l, keep[1])
	}
	for _, job := range l.List("active") {
		c.Status.Active = append(c.Status.Active, reference(w.jobs.Server[job]))
	}
	if l.Has("deleting") {
		c = controllertest.Deleted(c, w.Now.Now())
	}
	w.cronJobs.Put(c)
}

func number(l *line.Line, text string) *int32 {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		l.Failf("%w", err)
	}
	return ptr.To(int32(n))
}

func (w *world) putJob(l *line.Line) {
	job := w.jobs.Edit(l.Name(), func() *batch.Job { return &batch.Job{} })
	if owner := l.Text("owner", ""); owner != "" {
		job.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(w.cronJobs.Server[owner], kind)}
	}
	if started := l.Text("started", ""); started != "" {
		at, err := time.Parse(time.DateTime, started)
		if err != nil {
			l.Failf("%w", err)
		}
		job.Status.StartTime = &metav1.Time{Time: at}
	}
	if ends := l.Text("ends", ""); ends != "" {
		now := metav1.NewTime(w.Now.Now())
		job.Status.Conditions = []batchv1.JobCondition{
			{Type: batchv1.JobConditionType(ends), Status: corev1.ConditionTrue, LastTransitionTime: now},
		}
		if ends == string(batchv1.JobComplete) {
			job.Status.CompletionTime = &now
		}
	}
	if l.Has("deleting") {
		job = controllertest.Deleted(job, w.Now.Now())
	}
	w.jobs.Put(job)
}
