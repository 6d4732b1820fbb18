package job

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	batch "github.com/allot-dev/allot/api/batch/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/controller/ownership"
	"github.com/allot-dev/allot/internal/controller/reconciler"
)

// The finalizer must not hold a pod that no Job will count.

// free removes the finalizer from a pod that will not be counted.
func (c *Controller) free(ctx context.Context, key Key) error {
	pod, ok := c.Pods.Get(key.Namespace, key.Name)
	if !ok || !isTracked(pod) || c.isWaitedFor(pod) {
		return nil
	}
	return c.takeFinalizer(ctx, pod)
}

// freeAll enqueues the pods of a Job that has ended or was deleted.
func (c *Controller) freeAll(job *batch.Job) {
	for _, pod := range c.Pods.ByIndex(ownership.Index, string(job.UID)) {
		if isTracked(pod) {
			c.queue.Add(Key{NamespacedName: reconciler.KeyOf(pod), Pod: true})
		}
	}
}

// isWaitedFor reports whether a controller will count the pod: its unfinished Job, a controller of
// another kind, or another controller that manages the Job.
func (c *Controller) isWaitedFor(pod *core.Pod) bool {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return false
	}
	if owner.Kind != kind.Kind || owner.APIVersion != batchv1.SchemeGroupVersion.String() {
		return true
	}
	job, ok := c.Jobs.Get(pod.Namespace, owner.Name)
	if !ok || job.UID != owner.UID {
		return false
	}
	_, finished := job.Finished()
	return !finished || isManagedElsewhere(job)
}

func hasSucceeded(pod *core.Pod) bool { return pod.Status.Phase == corev1.PodSucceeded }
