package cronjob

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	batch "github.com/allot-dev/allot/api/batch/v1"
	"github.com/allot-dev/allot/internal/controller/controllertest"
)

// objects are CronJobs and Jobs.
type objects struct {
	cronJobs controllertest.Store[*batch.CronJob]
	jobs     controllertest.Store[*batch.Job]
}

func newObjects() objects {
	return objects{controllertest.Store[*batch.CronJob]{}, controllertest.Store[*batch.Job]{}}
}

// world is a server, a cache that lags behind it until sync, and a controller between the two. The
// writes and events of a pass are collected as lines.
type world struct {
	*controllertest.Journal
	*Controller
	server, cache objects
}

func newWorld() *world {
	w := &world{Journal: controllertest.NewJournal(0), server: newObjects(), cache: newObjects()}
	w.Controller = &Controller{
		cronJobs: w.cache.cronJobs, jobs: w.cache.jobs, server: w, writeJob: w, events: w, clock: w.Now, queue: w,
		statuses: newStatuses(w.Now),
	}
	return w
}

// Eventf records all events.
func (w *world) Eventf(_ runtime.Object, _, reason, format string, args ...any) {
	w.Say("event %s %s", reason, fmt.Sprintf(format, args...))
}

// sync brings the cache up to the server and delivers the events.
func (w *world) sync() {
	w.cache.cronJobs.Follow(w.server.cronJobs, w.onCronJob)
	w.syncJobs()
}

func (w *world) syncJobs() { w.cache.jobs.Follow(w.server.jobs, w.onJob) }

func (w *world) LiveCronJob(_ context.Context, _, name string) (*batch.CronJob, error) {
	w.Say("get cronjob %s", name)
	if c, ok := w.server.cronJobs[name]; ok {
		return c, nil
	}
	return nil, apierrors.NewNotFound(batchv1.Resource("cronjobs"), name)
}

func (w *world) UpdateCronJobStatus(_ context.Context, c *batch.CronJob) (*batch.CronJob, error) {
	live, ok := w.server.cronJobs[c.Name]
	switch {
	case !ok:
		return nil, apierrors.NewNotFound(batchv1.Resource("cronjobs"), c.Name)
	case w.Refuse["status"] != nil:
		return nil, w.Refuse["status"]
	case live.ResourceVersion != c.ResourceVersion:
		w.Say("status: conflict")
		return nil, apierrors.NewConflict(batchv1.Resource("cronjobs"), c.Name, errors.New("changed"))
	}
	c = c.DeepCopy()
	w.Stamp(&c.ObjectMeta)
	w.server.cronJobs[c.Name] = c
	w.Say("status %s: %s", c.Name, describe(&c.Status))
	return c, nil
}

func describe(s *batchv1.CronJobStatus) string {
	var active []string
	for _, ref := range s.Active {
		active = append(active, ref.Name)
	}
	at := func(t *metav1.Time) string {
		if t == nil {
			return "never"
		}
		return t.UTC().Format(time.DateTime)
	}
	return fmt.Sprintf("active=[%s] last=%s successful=%s", strings.Join(active, " "), at(s.LastScheduleTime),
		at(s.LastSuccessfulTime))
}

func (w *world) LiveJob(_ context.Context, _, name string) (*batch.Job, error) {
	w.Say("get job %s", name)
	if err := w.Refuse["get"]; err != nil {
		return nil, err
	}
	if job, ok := w.server.jobs[name]; ok {
		return job, nil
	}
	return nil, apierrors.NewNotFound(batchv1.Resource("jobs"), name)
}

func (w *world) CreateJob(_ context.Context, job *batch.Job) (*batch.Job, error) {
	if err := w.Refuse["create"]; err != nil {
		w.Say("refused create")
		return nil, err
	}
	if _, taken := w.server.jobs[job.Name]; taken {
		w.Say("create job %s: exists", job.Name)
		return nil, apierrors.NewAlreadyExists(batchv1.Resource("jobs"), job.Name)
	}
	job = job.DeepCopy()
	w.Stamp(&job.ObjectMeta)
	w.server.jobs[job.Name] = job
	w.Say("create job %s at %s", job.Name, job.Annotations[batchv1.CronJobScheduledTimestampAnnotation])
	if w.Refuse["response"] != nil {
		return nil, w.Refuse["response"]
	}
	return job, nil
}

func (w *world) DeleteJob(_ context.Context, _, name string, uid types.UID) error {
	if err := w.Refuse["delete"]; err != nil {
		w.Say("refused delete of job %s", name)
		return err
	}
	live, ok := w.server.jobs[name]
	switch {
	case !ok:
		return apierrors.NewNotFound(batchv1.Resource("jobs"), name)
	case live.UID != uid:
		return apierrors.NewConflict(batchv1.Resource("jobs"), name, errors.New("another UID"))
	}
	w.Say("delete job %s", name)
	delete(w.server.jobs, name)
	return nil
}

// finish sets the end of a Job.
func (w *world) finish(job *batch.Job, as batchv1.JobConditionType) {
	now := metav1.NewTime(w.Now.Now())
	job.Status.Conditions = []batchv1.JobCondition{
		{Type: as, Status: corev1.ConditionTrue, LastTransitionTime: now},
	}
	if as == batchv1.JobComplete {
		job.Status.CompletionTime = &now
	}
}
