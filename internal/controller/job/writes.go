package job

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	batch "github.com/allot-dev/allot/api/batch/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/controller/expectations"
)

// expectationLife ends the wait for a write that the cache never shows.
const expectationLife = time.Minute

// writes are the own writes that the caches may not show yet, each kind with its cache.
type writes struct {
	pods      *expectations.Tracker // created and deleted
	released  *expectations.Tracker // pods that have lost their finalizer
	workloads *expectations.Tracker
	groups    *expectations.Tracker
	statuses  *expectations.Tracker // of Jobs, by their versions
}

func newWrites(caches Caches, clock clock.PassiveClock) *writes {
	tracker := func(cache expectations.Cache) *expectations.Tracker {
		return expectations.NewTracker(cache, clock, expectationLife)
	}
	return &writes{
		pods:      tracker(expectations.In(caches.Pods.Get)),
		workloads: tracker(expectations.In(caches.Workloads.Get)),
		groups:    tracker(expectations.In(caches.Groups.Get)),
		released: tracker(func(ns, name string, uid types.UID) (bool, bool) {
			pod, ok := caches.Pods.Get(ns, name)
			return ok && pod.UID == uid && isTracked(pod), false
		}),
		// A Job is there before and after its status is written: only the version tells.
		statuses: tracker(func(string, string, types.UID) (bool, bool) { return false, false }),
	}
}

// follow has trackers ask the cache how far it is.
func (*writes) follow(reached func() string, trackers ...*expectations.Tracker) {
	for _, t := range trackers {
		t.Follow(reached)
	}
}

func (w *writes) all() []*expectations.Tracker {
	return []*expectations.Tracker{w.pods, w.released, w.workloads, w.groups, w.statuses}
}

// settled says that the caches show all that was written for the Job, or how long that is to be waited for.
func (w *writes) settled(job types.UID) (wait time.Duration, ok bool) {
	ok = true
	for _, t := range w.all() {
		if shown, left := t.Satisfied(job); !shown {
			wait, ok = max(wait, left), false
		}
	}
	return wait, ok
}

func (w *writes) status(job *batch.Job) { w.statuses.Created(job.UID, job) }

func (w *writes) release(job types.UID, pod *core.Pod) { w.released.Deleted(job, pod) }

// forget drops what is awaited for a Job that is gone.
func (w *writes) forget(job types.UID) {
	for _, t := range w.all() {
		t.Forget(job)
	}
}
