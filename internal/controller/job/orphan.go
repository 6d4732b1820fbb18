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

// A pod that no Job will count any more must not be held by the finalizer.

// free takes the finalizer off a pod that nobody waits for.
func (c *Controller) free(ctx context.Context, key Key) error {
	pod, ok := c.Pods.Get(key.Namespace, key.Name)
	if !ok || !isTracked(pod) || c.isWaitedFor(pod) {
		return nil
	}
	return c.takeFinalizer(ctx, pod)
}

// freeAll looks at the pods of a Job that has ended or is gone.
func (c *Controller) freeAll(job *batch.Job) {
	for _, pod := range c.Pods.ByIndex(ownership.Index, string(job.UID)) {
		if isTracked(pod) {
			c.queue.Add(Key{NamespacedName: reconciler.KeyOf(pod), Pod: true})
		}
	}
}

// isWaitedFor says that somebody will count the pod: its Job, which has not ended, or a controller of another kind, or one
// that manages the Job instead of this one.
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
