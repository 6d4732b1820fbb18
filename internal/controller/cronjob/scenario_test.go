package cronjob

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	batch "github.com/allot-dev/allot/api/batch/v1"
	"github.com/allot-dev/allot/internal/controller/controllertest"
)

// The scenarios in testdata have these verbs. They begin at midnight, UTC, of January 1, 2026, a
// Thursday.
//
//	cronjob name=c [schedule=(* * * * *)] [zone=Europe/Berlin] [policy=Forbid] [deadline=60] [uid=u]
//	    [keep=(3,1)] [suspend=true] [deleting] [active=(job,…)]   creates or changes a CronJob
//	job name=j [owner=c] [started=time] [ends=Complete|Failed] [deleting]   creates or changes a Job
//	remove job=j | cronjob=c      from the server
//	refuse verb=create|delete|get|status|response [with=(text) | terminating]
//	sync [jobs]                   the cache sees the server, or only its Jobs
//	advance by=10s
//	reconcile name=c [lag]        prints writes, events and the time of the next pass
//	jobs                          prints the server's Jobs
//
// cronjob and job write to the server; with "lag" the cache does not see it yet.
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		w := newWorld()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			handler, ok := handlers[d.Cmd]
			if !ok {
				d.Fatalf(t, "no verb %q", d.Cmd)
			}
			return handler(t, w, d)
		})
	})
}

var handlers = map[string]func(*testing.T, *world, *datadriven.TestData) string{
	"cronjob": doCronJob, "job": doJob, "remove": doRemove, "reconcile": doReconcile, "jobs": doJobs, "refuse": doRefuse,
	"sync": func(_ *testing.T, w *world, d *datadriven.TestData) string {
		if d.HasArg("jobs") {
			w.syncJobs()
		} else {
			w.sync()
		}
		return w.Flush()
	},
	"advance": func(t *testing.T, w *world, d *datadriven.TestData) string {
		w.DoAdvance(t, d)
		return w.Flush()
	},
}

func doRefuse(t *testing.T, w *world, d *datadriven.TestData) string {
	w.DoRefuse(t, d)
	if d.HasArg("terminating") {
		err := apierrors.NewForbidden(batchv1.Resource("jobs"), "", errors.New("namespace is terminating"))
		err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
		w.Refuse["create"] = err
	}
	return w.Flush()
}

func doCronJob(t *testing.T, w *world, d *datadriven.TestData) string {
	var name, schedule, zone, policy, deadline, uid, suspend string
	var keep, active []string
	d.ScanArgs(t, "name", &name)
	for arg, into := range map[string]*string{
		"schedule": &schedule, "zone": &zone, "policy": &policy, "deadline": &deadline, "uid": &uid, "suspend": &suspend,
	} {
		d.MaybeScanArgs(t, arg, into)
	}
	for _, arg := range d.CmdArgs {
		switch arg.Key {
		case "keep":
			keep = arg.Vals
		case "active":
			active = arg.Vals
		}
	}
	c := &batch.CronJob{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(uid)}}
	c.Spec.Schedule, c.Spec.ConcurrencyPolicy = "* * * * *", batchv1.AllowConcurrent
	c.Spec.JobTemplate.Labels = map[string]string{"app": name}
	c.Spec.JobTemplate.Annotations = map[string]string{"team": "a"}
	if live, ok := w.server.cronJobs[name]; ok && uid == "" {
		c = live.DeepCopy()
	}
	for text, set := range map[string]func(){
		schedule: func() { c.Spec.Schedule = schedule },
		zone:     func() { c.Spec.TimeZone = &zone },
		policy:   func() { c.Spec.ConcurrencyPolicy = batchv1.ConcurrencyPolicy(policy) },
		deadline: func() { c.Spec.StartingDeadlineSeconds = number[int64](t, deadline) },
		suspend:  func() { on := suspend == "true"; c.Spec.Suspend = &on },
	} {
		if text != "" {
			set()
		}
	}
	if len(keep) == 2 {
		c.Spec.SuccessfulJobsHistoryLimit = number[int32](t, keep[0])
		c.Spec.FailedJobsHistoryLimit = number[int32](t, keep[1])
	}
	for _, job := range active {
		c.Status.Active = append(c.Status.Active, reference(w.server.jobs[job]))
	}
	if d.HasArg("deleting") {
		now := metav1.NewTime(w.Now.Now())
		c.DeletionTimestamp = &now
	}
	w.Stamp(&c.ObjectMeta)
	w.server.cronJobs[name] = c
	return w.seen(d)
}

func number[T int32 | int64](t *testing.T, text string) *T {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	out := T(n)
	return &out
}

func doJob(t *testing.T, w *world, d *datadriven.TestData) string {
	var name, owner, started, ends string
	d.ScanArgs(t, "name", &name)
	for arg, into := range map[string]*string{"owner": &owner, "started": &started, "ends": &ends} {
		d.MaybeScanArgs(t, arg, into)
	}
	job := &batch.Job{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if live, ok := w.server.jobs[name]; ok {
		job = live.DeepCopy()
	}
	if owner != "" {
		job.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(w.server.cronJobs[owner], kind)}
	}
	if started != "" {
		at, err := time.Parse(time.DateTime, started)
		if err != nil {
			t.Fatal(err)
		}
		job.Status.StartTime = &metav1.Time{Time: at}
	}
	if ends != "" {
		w.finish(job, batchv1.JobConditionType(ends))
	}
	if d.HasArg("deleting") {
		now := metav1.NewTime(w.Now.Now())
		job.DeletionTimestamp = &now
	}
	w.Stamp(&job.ObjectMeta)
	w.server.jobs[name] = job
	return w.seen(d)
}

func doRemove(t *testing.T, w *world, d *datadriven.TestData) string {
	var job, cronJob string
	d.MaybeScanArgs(t, "job", &job)
	d.MaybeScanArgs(t, "cronjob", &cronJob)
	delete(w.server.jobs, job)
	delete(w.server.cronJobs, cronJob)
	return w.seen(d)
}

// seen delivers what was written to the cache, unless it lags.
func (w *world) seen(d *datadriven.TestData) string {
	if !d.HasArg("lag") {
		w.sync()
	}
	return w.Flush()
}

func doReconcile(t *testing.T, w *world, d *datadriven.TestData) string {
	var name string
	d.ScanArgs(t, "name", &name)
	err := w.Reconcile(context.Background(), types.NamespacedName{Namespace: "default", Name: name})
	out := w.Flush()
	if err != nil {
		out += fmt.Sprintf("error: %v\n", err)
	}
	if !d.HasArg("lag") {
		w.sync()
		w.Lines = nil
		clear(w.Queued) // by its own writes
	}
	return out
}

func doJobs(_ *testing.T, w *world, _ *datadriven.TestData) string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(w.server.jobs)) {
		job := w.server.jobs[name]
		lines = append(lines, fmt.Sprintf("%s owners=%v labels=%v annotations=%v", name, controllertest.Owners(job),
			job.Labels, job.Annotations))
	}
	return strings.Join(append(lines, ""), "\n")
}
