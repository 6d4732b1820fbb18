package job

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/controller/replica"
)

// want returns the wanted number of active pods.
func (t *tally) want() int {
	limit, ok := completions(t.job)
	switch {
	case ok:
		return max(0, min(parallelism(t.job), limit-t.succeeded))
	case t.succeeded > 0:
		return len(t.active) // active pods may end by themselves; no new ones
	}
	return parallelism(t.job)
}

// surplus returns the active pods to drop: those with an invalid index or a duplicate of one, and
// then the cheapest ones, until want are left.
func (t *tally) surplus(want int) []*core.Pod {
	order := slices.Clone(t.active)
	slices.SortStableFunc(order, byWorth)
	var doomed, rest []*core.Pod
	taken := map[int]bool{}
	for _, pod := range slices.Backward(order) {
		index := indexOf(pod)
		if !isTracked(pod) || !t.isValid(pod) || isIndexed(t.job) && taken[index] {
			doomed = append(doomed, pod)
			continue
		}
		taken[index] = true
		rest = append(rest, pod)
	}
	slices.Reverse(rest)
	return append(doomed, rest[:max(0, len(rest)-want)]...)
}

// byWorth sorts pods by the cost of losing them: without a node, not running, not ready, ready or
// alive for a shorter time.
func byWorth(a, b *core.Pod) int {
	readyA, isReadyA := replica.ReadySince(a)
	readyB, isReadyB := replica.ReadySince(b)
	return cmp.Or(
		replica.FalseFirst(a.Spec.NodeName != "", b.Spec.NodeName != ""),
		replica.FalseFirst(a.Status.Phase == corev1.PodRunning, b.Status.Phase == corev1.PodRunning),
		replica.FalseFirst(isReadyA, isReadyB),
		readyB.Compare(readyA),
		b.CreationTimestamp.Compare(a.CreationTimestamp.Time),
		cmp.Compare(a.Name, b.Name),
	)
}

// creations returns the pods to create now, at most count, and the time until more may be created.
func (t *tally) creations(count int, backoff Backoff, now time.Time) (list []Creation, again time.Duration) {
	if !limitsIndexes(t.job) {
		if again = backoff.Wait(now); again > 0 {
			return nil, again
		}
	}
	if !isIndexed(t.job) {
		return slices.Repeat([]Creation{{Index: noIndex}}, count), 0
	}
	taken := t.done.Union(t.failedIndexes).Union(indexesOf(t.active))
	if waitsForEnd(t.job) {
		taken = taken.Union(indexesOf(t.terminating))
	}
	limit, _ := completions(t.job)
	for _, index := range taken.Missing(count+len(t.replaced), limit) {
		if len(list) == count {
			break
		}
		next, wait := t.nextCreation(index, now)
		if wait > 0 {
			again = shorter(again, wait)
			continue
		}
		list = append(list, next)
	}
	return list, again
}

// nextCreation returns the next pod of an index, and its remaining delay.
func (t *tally) nextCreation(index int, now time.Time) (Creation, time.Duration) {
	last := t.replaced[index]
	if last == nil {
		return Creation{Index: index}, 0
	}
	counted, ignored := failures(last)
	wait := Backoff{Failures: counted + ignored + 1, Last: endedAt(last)}.Wait(now)
	if rule(t.job, last).counts() {
		counted++
	} else {
		ignored++
	}
	return Creation{Index: index, Failures: counted, Ignored: ignored}, wait
}

// shorter returns the shorter of two times, where 0 means none.
func shorter(a, b time.Duration) time.Duration {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}
