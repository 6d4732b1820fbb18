package job

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/controller/replica"
)

// Each pod that ends is counted exactly once, even if a pass or the process is interrupted. The
// status first lists the pod in uncountedTerminatedPods (or its index in completedIndexes); then
// the finalizer is removed; and when the cache shows that, the counter is incremented and the pod
// removed from the list, in one write. A pod with the finalizer that is not listed has not been
// counted; a listed pod without it must be counted.

// tallyUp updates the counters, and selects the pods to release.
func (p *pass) tallyUp() {
	if p.Status.UncountedTerminatedPods == nil {
		p.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
	}
	p.move()
	for _, pod := range p.tally.pods {
		if u := p.Status.UncountedTerminatedPods; len(p.Release) >= burst || len(u.Succeeded)+len(u.Failed) >= burst {
			break
		}
		if isTracked(pod) && p.isOver(pod) {
			p.list(pod)
			p.Release = append(p.Release, pod)
		}
	}
	if isIndexed(p.job) {
		p.Status.Succeeded = int32(p.tally.succeeded)
		p.Status.CompletedIndexes = p.tally.done.String()
	}
	if limitsIndexes(p.job) {
		p.Status.FailedIndexes = ptr.To(p.tally.failedIndexes.String())
	}
	p.Status.Active = int32(len(p.tally.active))
	p.Status.Ready = ptr.To(int32(p.tally.ready))
	p.Status.Terminating = ptr.To(int32(len(p.tally.terminating)))
}

// move counts the listed pods without a finalizer.
func (p *pass) move() {
	listed := map[types.UID]bool{}
	for _, pod := range p.tally.pods {
		listed[pod.UID] = isTracked(pod)
	}
	isGone := func(uid types.UID) bool { return !listed[uid] }
	u := p.Status.UncountedTerminatedPods
	for _, l := range []struct {
		list  *[]types.UID
		count *int32
	}{{&u.Succeeded, &p.Status.Succeeded}, {&u.Failed, &p.Status.Failed}} {
		before := len(*l.list)
		*l.list = slices.DeleteFunc(*l.list, isGone)
		*l.count += int32(before - len(*l.list))
	}
}

// isOver reports whether the controller no longer waits for the pod.
func (p *pass) isOver(pod *core.Pod) bool {
	switch {
	case p.job.DeletionTimestamp != nil || p.ending != nil || pod.Status.Phase == corev1.PodSucceeded:
		return true
	case !p.tally.hasFailed(pod):
		return false
	}
	last := p.tally.replaced[indexOf(pod)]
	return last == nil || last.UID != pod.UID
}

// list records a pod to be counted. A success of an indexed Job is in completedIndexes; a pod that
// runs when the Job fails counts as a failure.
func (p *pass) list(pod *core.Pod) {
	u := p.Status.UncountedTerminatedPods
	isFailure := p.tally.hasFailed(pod) || p.ending != nil && p.ending.Type == batchv1.JobFailureTarget
	switch {
	case slices.Contains(u.Failed, pod.UID) || slices.Contains(u.Succeeded, pod.UID) || !p.tally.isValid(pod):
	case pod.Status.Phase == corev1.PodSucceeded:
		if !isIndexed(p.job) {
			u.Succeeded = append(u.Succeeded, pod.UID)
		}
	case isFailure && rule(p.job, pod).counts():
		u.Failed = append(u.Failed, pod.UID)
	}
}

// Outcome is the number of created pods, and the stopped and dropped pods.
type Outcome struct {
	Created int
	Deleted []*core.Pod
}

// Status returns the status to write afterwards. A pod without a node is removed as soon as it is
// deleted.
func (o Outcome) Status(p Plan) batchv1.JobStatus {
	status := *p.Status.DeepCopy()
	status.Active += int32(o.Created - len(o.Deleted))
	for _, pod := range o.Deleted {
		if replica.Ready(pod) {
			*status.Ready--
		}
		if pod.Spec.NodeName != "" {
			*status.Terminating++
		}
	}
	return status
}
