package job

import (
	"cmp"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	batch "github.com/allot-dev/allot/api/batch/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/controller/replica"
)

// tally holds the counts of a Job's pods together with its status.
type tally struct {
	job         *batch.Job
	pods        []*core.Pod // all, by index and name
	active      []*core.Pod
	terminating []*core.Pod
	ready       int // number of active pods that are ready

	// Ended pods that are not counted yet. Pods with an invalid index are in neither list.
	newSucceeded, newFailed []*core.Pod
	// succeeded and failed count all ended pods, whether or not the status includes them.
	succeeded, failed int

	done          Indexes // succeeded indexes
	failedIndexes Indexes // indexes that are not retried; empty if only the Job has a limit
	// replaced has the last failed pod of each index without an active pod. It is kept until the
	// next pod of the index records the number of failures.
	replaced map[int]*core.Pod
}

func newTally(job *batch.Job, pods []*core.Pod) *tally {
	t := &tally{job: job, pods: slices.Clone(pods), replaced: map[int]*core.Pod{}}
	slices.SortFunc(t.pods, func(a, b *core.Pod) int {
		return cmp.Or(cmp.Compare(indexOf(a), indexOf(b)), cmp.Compare(a.Name, b.Name))
	})
	counted := uncounted(job.Status)
	for _, pod := range t.pods {
		t.addUnfinished(pod)
		switch {
		case !isTracked(pod) || !t.isValid(pod) || counted[pod.UID]:
		case pod.Status.Phase == corev1.PodSucceeded:
			t.newSucceeded = append(t.newSucceeded, pod)
		case t.hasFailed(pod):
			t.newFailed = append(t.newFailed, pod)
		}
	}
	t.count()
	if isIndexed(job) {
		t.countIndexes()
	}
	return t
}

func (t *tally) addUnfinished(pod *core.Pod) {
	switch {
	case pod.Finished():
	case pod.DeletionTimestamp != nil:
		t.terminating = append(t.terminating, pod)
	default:
		t.active = append(t.active, pod)
		if replica.Ready(pod) {
			t.ready++
		}
	}
}

func (t *tally) count() {
	status := t.job.Status
	t.succeeded = int(status.Succeeded) + len(t.newSucceeded)
	t.failed = int(status.Failed)
	if u := status.UncountedTerminatedPods; u != nil {
		t.succeeded += len(u.Succeeded)
		t.failed += len(u.Failed)
	}
	for _, pod := range t.newFailed {
		if rule(t.job, pod).counts() {
			t.failed++
		}
	}
}

func (t *tally) countIndexes() {
	limit, _ := completions(t.job)
	var succeeded, failed []int
	for _, pod := range t.pods {
		switch {
		case !isTracked(pod) || !t.isValid(pod):
		case pod.Status.Phase == corev1.PodSucceeded:
			succeeded = append(succeeded, indexOf(pod))
		case t.failsIndex(pod):
			failed = append(failed, indexOf(pod))
		}
	}
	t.done = ParseIndexes(t.job.Status.CompletedIndexes, limit).Union(IndexesOf(succeeded...))
	t.succeeded = t.done.Len()
	if !limitsIndexes(t.job) {
		return
	}
	if before := t.job.Status.FailedIndexes; before != nil {
		t.failedIndexes = ParseIndexes(*before, limit)
	}
	// An index with two pods can have a failed and a succeeded one.
	failed = slices.DeleteFunc(failed, t.done.Has)
	t.failedIndexes = t.failedIndexes.Union(IndexesOf(failed...))
	t.findReplaced()
}

func (t *tally) findReplaced() {
	taken := t.done.Union(t.failedIndexes).Union(indexesOf(t.active))
	for _, pod := range t.pods {
		if !isTracked(pod) || !t.isValid(pod) || !t.hasFailed(pod) || taken.Has(indexOf(pod)) {
			continue
		}
		if last := t.replaced[indexOf(pod)]; last == nil || isLater(pod, last) {
			t.replaced[indexOf(pod)] = pod
		}
	}
}

// isLater reports whether a failed pod records more failures of its index than another one or, if
// the numbers are equal, ended later.
func isLater(a, b *core.Pod) bool {
	counted, ignored := failures(a)
	otherCounted, otherIgnored := failures(b)
	return cmp.Or(cmp.Compare(counted+ignored, otherCounted+otherIgnored), endedAt(a).Compare(endedAt(b))) > 0
}

// hasFailed reports whether the pod counts as failed: it has failed, or it is being deleted before
// it has succeeded.
func (t *tally) hasFailed(pod *core.Pod) bool {
	switch {
	case pod.Status.Phase == corev1.PodFailed:
		return true
	case pod.Status.Phase == corev1.PodSucceeded || pod.DeletionTimestamp == nil || waitsForEnd(t.job):
		return false
	}
	// Pods stopped because the Job has succeeded are not failures.
	_, succeeded := trueCondition(t.job.Status.Conditions, batchv1.JobSuccessCriteriaMet)
	return !succeeded
}

// failsIndex reports whether the pod is the last failure that its index may have.
func (t *tally) failsIndex(pod *core.Pod) bool {
	if !limitsIndexes(t.job) || !t.hasFailed(pod) {
		return false
	}
	r := rule(t.job, pod)
	if r.action == batchv1.PodFailurePolicyActionFailIndex {
		return true
	}
	counted, _ := failures(pod)
	return r.counts() && counted >= int(*t.job.Spec.BackoffLimitPerIndex)
}

// isValid reports whether the end of the pod counts: in an indexed Job, its index must be valid.
func (t *tally) isValid(pod *core.Pod) bool {
	if !isIndexed(t.job) {
		return true
	}
	limit, _ := completions(t.job)
	index := indexOf(pod)
	return index != noIndex && index < limit
}

// maxActive returns the maximum number of active pods, given the ended ones.
func (t *tally) maxActive() int {
	room := parallelism(t.job)
	if limit, ok := completions(t.job); ok {
		room = min(room, limit-t.succeeded-t.failedIndexes.Len())
	}
	return max(0, room)
}

func indexesOf(pods []*core.Pod) Indexes {
	var list []int
	for _, pod := range pods {
		if index := indexOf(pod); index != noIndex {
			list = append(list, index)
		}
	}
	return IndexesOf(list...)
}

func uncounted(status batchv1.JobStatus) map[types.UID]bool {
	set := map[types.UID]bool{}
	if u := status.UncountedTerminatedPods; u != nil {
		for _, uid := range slices.Concat(u.Succeeded, u.Failed) {
			set[uid] = true
		}
	}
	return set
}
