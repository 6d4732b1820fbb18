package replicaset

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apps "github.com/allot-dev/allot/api/apps/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/controller/batch"
	"github.com/allot-dev/allot/internal/controller/ownership"
	"github.com/allot-dev/allot/internal/controller/replica"
)

// scale creates or deletes pods so that rs has as many active ones as it asks for.
func (c *Controller) scale(ctx context.Context, rs *apps.ReplicaSet, active []*core.Pod) error {
	plan := Decide(rs, active, c.related(rs), burst, c.clock.Now())
	if plan.Create > 0 {
		return batch.SlowStart(plan.Create, func(int) error { return c.create(ctx, rs) })
	}
	return batch.Parallel(len(plan.Delete), func(i int) error { return c.remove(ctx, rs, plan.Delete[i]) })
}

// related are the pods of the ReplicaSets that have rs's controller.
func (c *Controller) related(rs *apps.ReplicaSet) []*core.Pod {
	owner := metav1.GetControllerOfNoCopy(rs)
	if owner == nil {
		return c.pods.ByIndex(ownership.Index, string(rs.UID))
	}
	var related []*core.Pod
	for _, sibling := range c.sets.ByIndex(ownership.Index, string(owner.UID)) {
		related = append(related, c.pods.ByIndex(ownership.Index, string(sibling.UID))...)
	}
	return related
}

func (c *Controller) create(ctx context.Context, rs *apps.ReplicaSet) error {
	pod, err := c.writePod.CreatePod(ctx, replica.New(rs, kind, &rs.Spec.Template))
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return nil // rs will be deleted too: nothing to retry, nothing to tell
	}
	if err != nil {
		c.events.Eventf(rs, corev1.EventTypeWarning, "FailedCreate", "Error creating: %v", err)
		return err
	}
	c.own.Created(rs.UID, pod)
	c.events.Eventf(rs, corev1.EventTypeNormal, "SuccessfulCreate", "Created pod: %v", pod.Name)
	return nil
}

func (c *Controller) remove(ctx context.Context, rs *apps.ReplicaSet, pod *core.Pod) error {
	err := c.writePod.DeletePod(ctx, pod)
	// A conflict is the UID precondition's: the pod is gone and a namesake is there.
	gone := apierrors.IsNotFound(err) || apierrors.IsConflict(err)
	if err != nil && !gone {
		c.events.Eventf(rs, corev1.EventTypeWarning, "FailedDelete", "Error deleting: %v", err)
		return fmt.Errorf("unable to delete pod %s: %w", pod.Name, err)
	}
	c.own.Deleted(rs.UID, pod)
	if err == nil {
		c.events.Eventf(rs, corev1.EventTypeNormal, "SuccessfulDelete", "Deleted pod: %v", pod.Name)
	}
	return nil
}
