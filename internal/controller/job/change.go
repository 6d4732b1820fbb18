package job

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	batch "github.com/allot-dev/allot/api/batch/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	requests "github.com/allot-dev/allot/internal/controller/batch"
)

// changePods stops, drops and creates pods. It returns what it did, and the first error.
func (c *Controller) changePods(ctx context.Context, job *batch.Job, plan Plan, group string) (Outcome, error) {
	var mu sync.Mutex
	var done Outcome
	deleted := func(pod *core.Pod) {
		mu.Lock()
		defer mu.Unlock()
		done.Deleted = append(done.Deleted, pod)
	}
	err := requests.Parallel(len(plan.Stop), func(i int) error {
		return c.remove(ctx, job, plan.Stop[i], deleted)
	})
	if err != nil {
		return done, err
	}
	err = requests.Parallel(len(plan.Drop), func(i int) error {
		if err := c.untrack(ctx, job, plan.Drop[i]); err != nil {
			return err
		}
		return c.remove(ctx, job, plan.Drop[i], deleted)
	})
	if err != nil {
		return done, err
	}
	err = requests.SlowStart(len(plan.Create), func(i int) error {
		created, err := c.pods.Create(ctx, job, NewPod(job, plan.Create[i], group))
		if created {
			mu.Lock()
			defer mu.Unlock()
			done.Created++
		}
		return err
	})
	return done, err
}

func (c *Controller) remove(ctx context.Context, job *batch.Job, pod *core.Pod, deleted func(*core.Pod)) error {
	if err := c.pods.Delete(ctx, job, pod); err != nil {
		return err
	}
	deleted(pod)
	return nil
}

// release removes the finalizer from pods recorded in the status. Later passes wait until the
// caches show it.
func (c *Controller) release(ctx context.Context, job *batch.Job, pods []*core.Pod) error {
	err := requests.Parallel(len(pods), func(i int) error {
		if err := c.takeFinalizer(ctx, pods[i]); err != nil {
			return err
		}
		c.own.release(job.UID, pods[i])
		return nil
	})
	if err != nil {
		return fmt.Errorf("job %s/%s: %w", job.Namespace, job.Name, err)
	}
	return nil
}

// untrack removes the finalizer from a pod that must not be counted, unless the pod has changed: it
// may have ended.
func (c *Controller) untrack(ctx context.Context, job *batch.Job, pod *core.Pod) error {
	if !isTracked(pod) {
		return nil
	}
	patch, err := finalizerPatch(map[string]any{"uid": pod.UID, "resourceVersion": pod.ResourceVersion})
	if err != nil {
		return err
	}
	if err := c.pods.Patch(ctx, pod, patch); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("finalizer of pod %s: %w", pod.Name, err)
	}
	c.own.release(job.UID, pod)
	return nil
}

func (c *Controller) takeFinalizer(ctx context.Context, pod *core.Pod) error {
	patch, err := finalizerPatch(map[string]any{"uid": pod.UID})
	if err != nil {
		return err
	}
	if err := c.pods.Patch(ctx, pod, patch); err != nil && !isGone(err) {
		return fmt.Errorf("finalizer of pod %s: %w", pod.Name, err)
	}
	return nil
}

// finalizerPatch returns the strategic merge patch that removes only the Job finalizer from the pod
// with this metadata.
func finalizerPatch(metadata map[string]any) ([]byte, error) {
	metadata["$deleteFromPrimitiveList/finalizers"] = []string{batchv1.JobTrackingFinalizer}
	return json.Marshal(map[string]any{"metadata": metadata})
}

// isGone reports whether the object no longer exists. A conflict means that the UID differs: it was
// recreated.
func isGone(err error) bool { return apierrors.IsNotFound(err) || apierrors.IsConflict(err) }
