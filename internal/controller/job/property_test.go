package job

import (
	"errors"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	batch "github.com/allot-dev/allot/api/batch/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/controller/replica"
)

// ledger is the naive count of terminated pods: it records the phase of each pod when it lost the
// finalizer.
type ledger struct {
	succeeded, failed map[types.UID]bool
}

func (l *ledger) note(w *world, pod *core.Pod) {
	status := w.server.jobs["j"].Status
	listed := ptr.Deref(status.UncountedTerminatedPods, batchv1.UncountedTerminatedPods{})
	_, failing := trueCondition(status.Conditions, batchv1.JobFailureTarget)
	_, done := trueCondition(status.Conditions, batchv1.JobSuccessCriteriaMet)
	switch {
	case slices.Contains(listed.Failed, pod.UID):
		l.failed[pod.UID] = true // and may have succeeded since it was listed
	case pod.Status.Phase == corev1.PodSucceeded:
		l.succeeded[pod.UID] = true
	case pod.Status.Phase == corev1.PodFailed || pod.DeletionTimestamp != nil && !done || failing:
		l.failed[pod.UID] = true
	}
}

// TestEachEndIsCountedOnce makes pods terminate, deletes them, and suspends and changes the Job,
// while caches lag, requests fail, and the controller is killed between any two requests. In the
// end the Job's status must have the correct counts, and the Job must have finished.
func TestEachEndIsCountedOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		l := &ledger{succeeded: map[types.UID]bool{}, failed: map[types.UID]bool{}}
		w.freed = func(pod *core.Pod) { l.note(w, pod) }
		indexed := rapid.Bool().Draw(t, "indexed")
		w.server.jobs["j"] = randomJob(t, w, indexed)
		w.sync()
		for range rapid.IntRange(5, 60).Draw(t, "steps") {
			act(t, w)
			check(t, w, l, indexed)
		}
		w.refuse = func(string, string) error { return nil }
		finish(t, w, l, indexed)
		status := w.server.jobs["j"].Status
		if got := int(status.Failed); got != len(l.failed) {
			t.Fatalf("%d failures counted, %d pods failed: %s", got, len(l.failed), statusText(status))
		}
		if got := int(status.Succeeded); !indexed && got != len(l.succeeded) {
			t.Fatalf("%d successes counted, %d pods succeeded: %s", got, len(l.succeeded), statusText(status))
		}
		for _, pod := range w.server.pods {
			if isTracked(pod) {
				t.Fatalf("pod %s is held when the Job has ended", pod.Name)
			}
		}
		if len(w.server.groups)+len(w.server.workloads.Store) > 0 {
			t.Fatalf("PodGroups or Workloads are left when the Job has ended")
		}
	})
}

func randomJob(t *rapid.T, w *world, indexed bool) *batch.Job {
	job := &batch.Job{ObjectMeta: metav1.ObjectMeta{Name: "j"}}
	job.Spec.Parallelism = ptr.To(rapid.Int32Range(1, 4).Draw(t, "parallelism"))
	job.Spec.Completions = ptr.To(rapid.Int32Range(1, 6).Draw(t, "completions"))
	job.Spec.BackoffLimit = ptr.To(rapid.Int32Range(0, 8).Draw(t, "limit"))
	job.Spec.PodReplacementPolicy = ptr.To(rapid.SampledFrom([]batchv1.PodReplacementPolicy{
		batchv1.Failed, batchv1.TerminatingOrFailed,
	}).Draw(t, "replacement"))
	if indexed {
		job.Spec.CompletionMode = ptr.To(batchv1.IndexedCompletion)
		if rapid.Bool().Draw(t, "per index") {
			job.Spec.BackoffLimitPerIndex = ptr.To(rapid.Int32Range(0, 2).Draw(t, "index limit"))
			job.Spec.BackoffLimit = ptr.To(int32(1000))
		}
	}
	if rapid.Bool().Draw(t, "gang") {
		job.Spec.Scheduling = &batchv1.JobSchedulingConfiguration{}
	}
	job.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"job": "j"}}
	job.Spec.Template.Labels = map[string]string{"job": "j"}
	w.stamp(&job.ObjectMeta)
	return job
}

// act makes one random change.
func act(t *rapid.T, w *world) {
	what := rapid.SampledFrom(
		[]string{
			"step",
			"step",
			"step",
			"sync",
			"sync pods",
			"run",
			"end",
			"end",
			"delete",
			"gone",
			"suspend",
			"advance",
			"crash",
			"trouble",
		},
	)
	switch what := what.Draw(t, "what"); what {
	case "step":
		w.lag = rapid.Bool().Draw(t, "lag")
		if len(w.waiting) > 0 {
			w.step()
		}
	case "sync":
		w.sync()
	case "sync pods":
		w.syncPods()
	case "run", "end", "delete", "gone":
		if pods := w.server.pods.InNamespace(""); len(pods) > 0 {
			touch(t, w, what, rapid.SampledFrom(pods).Draw(t, "pod").DeepCopy())
		}
	case "suspend":
		job := w.server.jobs["j"].DeepCopy()
		job.Spec.Suspend = ptr.To(rapid.Bool().Draw(t, "suspend"))
		w.stamp(&job.ObjectMeta)
		w.server.jobs["j"] = job
	case "advance":
		w.sync() // caches lag, but not while own writes are awaited
		w.advance(time.Duration(rapid.IntRange(1, 60).Draw(t, "seconds")) * time.Second)
	case "crash":
		w.restart()
	case "trouble":
		// The process ends after this number of requests, as seen by the server.
		left := rapid.IntRange(0, 6).Draw(t, "requests")
		w.refuse = func(string, string) error {
			if left--; left < 0 {
				return errors.New("trouble")
			}
			return nil
		}
		for len(w.waiting) > 0 && left >= 0 {
			before := left
			if w.step(); before == left {
				break
			}
		}
		w.refuse = func(string, string) error { return nil }
		if rapid.Bool().Draw(t, "dies") {
			w.restart()
		}
	}
}

func touch(t *rapid.T, w *world, what string, pod *core.Pod) {
	running := pod.Status.Phase == corev1.PodRunning
	switch {
	case what == "run" && pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil:
		w.runPod(pod)
	case what == "end" && running:
		w.endPod(pod, rapid.SampledFrom([]int32{0, 0, 1}).Draw(t, "code"))
	case what == "delete" && pod.DeletionTimestamp == nil && !pod.Finished():
		w.deletePod(pod)
	case what == "gone" && pod.DeletionTimestamp != nil && running:
		w.gonePod(pod)
	}
}

// check checks the invariants that hold at any time, whatever the caches show.
func check(t *rapid.T, w *world, l *ledger, indexed bool) {
	job := w.server.jobs["j"]
	active, taken, useful := 0, map[int]string{}, len(l.succeeded)
	for _, pod := range w.server.pods.InNamespace("") {
		if isTracked(pod) && !l.succeeded[pod.UID] && (pod.Status.Phase == corev1.PodSucceeded || replica.Active(pod)) {
			useful++
		}
		if pod.Finished() || pod.DeletionTimestamp != nil {
			continue
		}
		active++
		if other, ok := taken[indexOf(pod)]; ok && indexed {
			t.Fatalf("pods %s and %s have one index", other, pod.Name)
		}
		taken[indexOf(pod)] = pod.Name
		if g := pod.Spec.SchedulingGroup; (g != nil) != (job.Spec.Scheduling != nil) {
			t.Fatalf("pod %s is in PodGroup %v", pod.Name, g)
		} else if g != nil && w.server.groups[*g.PodGroupName] == nil {
			t.Fatalf("pod %s has no PodGroup", pod.Name)
		}
	}
	if active > parallelism(job) {
		t.Fatalf("%d pods run, of %d", active, parallelism(job))
	}
	if limit, _ := completions(job); !indexed && useful > limit {
		t.Fatalf("%d pods run or have succeeded, of %d", useful, limit)
	}
	if s := job.Status; s.Ready != nil && (*s.Ready > s.Active || *s.Ready < 0 || *s.Terminating < 0) {
		t.Fatalf("the server refuses this status: %s", statusText(s))
	}
	_, complete := trueCondition(job.Status.Conditions, batchv1.JobComplete)
	_, failed := trueCondition(job.Status.Conditions, batchv1.JobFailed)
	if (complete || failed) && (active > 0 || complete && failed) {
		t.Fatalf("the Job has ended with %d pods: %s", active, statusText(job.Status))
	}
}

// finish makes all pods terminate until the Job has finished.
func finish(t *rapid.T, w *world, l *ledger, indexed bool) {
	w.lag = false
	job := w.server.jobs["j"].DeepCopy()
	job.Spec.Suspend = nil
	w.stamp(&job.ObjectMeta)
	w.server.jobs["j"] = job
	for range 200 {
		w.sync()
		w.work()
		check(t, w, l, indexed)
		_, finished := w.server.jobs["j"].Finished()
		if finished && !slices.ContainsFunc(w.server.pods.InNamespace(""), isTracked) &&
			len(w.server.groups)+len(w.server.workloads.Store) == 0 {
			return
		}
		for _, pod := range w.server.pods.InNamespace("") {
			switch pod = pod.DeepCopy(); {
			case pod.Finished():
			case pod.DeletionTimestamp != nil:
				w.gonePod(pod)
			case pod.Spec.NodeName == "":
				w.runPod(pod)
			default:
				w.endPod(pod, 0)
			}
		}
		w.advance(time.Minute)
	}
	t.Fatalf("the Job does not end: %s\n%s", statusText(w.server.jobs["j"].Status), w.flush())
}
