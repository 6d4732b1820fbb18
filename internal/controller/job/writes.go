package job

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	batch "github.com/allot-dev/allot/api/batch/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/controller/expectations"
	"github.com/allot-dev/allot/internal/controller/workload"
)

// writes tracks the own writes that the caches may not show yet, by kind. Created and deleted pods
// are tracked by workload.Pods.
type writes struct {
	released  *expectations.Tracker // pods without the finalizer
	workloads *expectations.Tracker
	groups    *expectations.Tracker
	statuses  *expectations.Tracker // statuses of Jobs, by version
}

func newWrites(caches Caches, clock clock.PassiveClock) *writes {
	tracker := func(cache expectations.Cache) *expectations.Tracker {
		return expectations.NewTracker(cache, clock, workload.ExpectationLife)
	}
	return &writes{
		workloads: tracker(expectations.In(caches.Workloads.Get)),
		groups:    tracker(expectations.In(caches.Groups.Get)),
		released: tracker(func(ns, name string, uid types.UID) (bool, bool) {
			pod, ok := caches.Pods.Get(ns, name)
			return ok && pod.UID == uid && isTracked(pod), false
		}),
		// A Job exists before and after its status is written: only the version shows the write.
		statuses: tracker(func(string, string, types.UID) (bool, bool) { return false, false }),
	}
}

// follow makes trackers use the version that the cache has reached.
func (*writes) follow(reached func() string, trackers ...*expectations.Tracker) {
	for _, t := range trackers {
		t.Follow(reached)
	}
}

func (w *writes) trackers() []*expectations.Tracker {
	return []*expectations.Tracker{w.released, w.workloads, w.groups, w.statuses}
}

// settled reports whether the caches show all writes for the Job, and otherwise how long to wait.
func (w *writes) settled(job types.UID) (wait time.Duration, ok bool) {
	ok = true
	for _, t := range w.trackers() {
		if shown, left := t.Satisfied(job); !shown {
			wait, ok = max(wait, left), false
		}
	}
	return wait, ok
}

func (w *writes) status(job *batch.Job) { w.statuses.Created(job.UID, job) }

func (w *writes) release(job types.UID, pod *core.Pod) { w.released.Deleted(job, pod) }

// forget drops the expected writes of a deleted Job.
func (w *writes) forget(job types.UID) {
	for _, t := range w.trackers() {
		t.Forget(job)
	}
}
