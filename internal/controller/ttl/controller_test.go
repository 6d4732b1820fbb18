package ttl

import (
	"context"
	"errors"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"

	batch "github.com/allot-dev/allot/api/batch/v1"
	"github.com/allot-dev/allot/internal/testkit/memcache"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// world has a cache, a server that may have a newer version of the Job, and a queue.
type world struct {
	live    *batch.Job // nil if it is deleted
	refuse  error
	deleted int
	now     int // keys added to the queue
	later   []time.Duration
}

func (w *world) LiveJob(context.Context, string, string) (*batch.Job, error) {
	if w.live == nil {
		return nil, apierrors.NewNotFound(batchv1.Resource("jobs"), "j")
	}
	return w.live, nil
}

func (w *world) DeleteJob(context.Context, *batch.Job) error {
	w.deleted++
	return w.refuse
}

func (w *world) Add(types.NamespacedName) { w.now++ }

func (w *world) AddAfter(_ types.NamespacedName, d time.Duration) { w.later = append(w.later, d) }

// job returns a Job that finished at the epoch.
func job(ttl int32, change ...func(*batch.Job)) *batch.Job {
	j := &batch.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "j"}}
	j.Spec.TTLSecondsAfterFinished = &ttl
	j.Status.Conditions = []batchv1.JobCondition{
		{Type: batchv1.JobSuspended, Status: corev1.ConditionFalse},
		{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(epoch)},
	}
	for _, f := range change {
		f(j)
	}
	return j
}

func withoutConditions(j *batch.Job) { j.Status.Conditions = nil }

func withDeletion(j *batch.Job) {
	now := metav1.NewTime(epoch)
	j.DeletionTimestamp = &now
}

func withoutTTL(j *batch.Job) { j.Spec.TTLSecondsAfterFinished = nil }

func TestExpiredJobsAreDeleted(t *testing.T) {
	refused := errors.New("no")
	for name, tc := range map[string]struct {
		cached, live *batch.Job
		refuse, want error
		asked        int // how often the event enqueued the Job
		deleted      int
		later        time.Duration
	}{
		"over":                 {cached: job(60), live: job(60), asked: 1, deleted: 1},
		"at once":              {cached: job(0), live: job(0), asked: 1, deleted: 1},
		"not yet":              {cached: job(61), live: job(61), asked: 1, later: time.Second},
		"still runs":           {cached: job(60, withoutConditions), live: job(60, withoutConditions)},
		"kept for ever":        {cached: job(60, withoutTTL), live: job(60, withoutTTL)},
		"being deleted":        {cached: job(60, withDeletion), live: job(60, withDeletion)},
		"kept longer by now":   {cached: job(60), live: job(90), asked: 1, later: 30 * time.Second},
		"gone by now":          {cached: job(60), asked: 1},
		"being deleted by now": {cached: job(60), live: job(60, withDeletion), asked: 1},
		"gone when it is deleted": {cached: job(60), live: job(60),
			refuse: apierrors.NewNotFound(batchv1.Resource("jobs"), "j"), asked: 1, deleted: 1},
		"cannot be deleted for now": {cached: job(60), live: job(60), refuse: refused, want: refused, asked: 1, deleted: 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{live: tc.live, refuse: tc.refuse}
			cache := memcache.New[*batch.Job]()
			c := &Controller{jobs: cache, server: w, clock: testclock.NewFakePassiveClock(epoch.Add(time.Minute)), queue: w}
			cache.OnChange(c.onJob)
			cache.Put(tc.cached)
			err := c.Reconcile(t.Context(), types.NamespacedName{Namespace: "default", Name: "j"})
			if !errors.Is(err, tc.want) {
				t.Errorf("error %v, want %v", err, tc.want)
			}
			if w.now != tc.asked || w.deleted != tc.deleted {
				t.Errorf("asked %d times and deleted %d times, want %d and %d", w.now, w.deleted, tc.asked, tc.deleted)
			}
			switch {
			case tc.later == 0 && len(w.later) > 0, tc.later > 0 && (len(w.later) != 1 || w.later[0] != tc.later):
				t.Errorf("comes back after %v, want %v", w.later, tc.later)
			}
			cache.Delete("default", "j")
			if err := c.Reconcile(t.Context(), types.NamespacedName{Namespace: "default", Name: "j"}); err != nil ||
				w.now != tc.asked {
				t.Errorf("a Job that is gone: error %v, asked %d times", err, w.now)
			}
		})
	}
}
