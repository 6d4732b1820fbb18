package daemonset

import (
	"context"
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	apps "github.com/allot-dev/allot/api/apps/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/controller/batch"
	"github.com/allot-dev/allot/internal/controller/history"
)

// act carries out a plan. Failed creations do not prevent deletions on other nodes.
func (c *Controller) act(ctx context.Context, set *apps.DaemonSet, plan Plan, hash string) error {
	doomed := plan.Delete[:min(len(plan.Delete), burst)]
	for _, pod := range plan.Ended {
		// pods left for a later pass are reported then, and their back-off does not start yet
		if slices.Contains(doomed, pod) {
			c.reportEnd(set, pod)
		}
	}
	return errors.Join(
		batch.SlowStart(min(len(plan.Create), burst), func(i int) error { return c.create(ctx, set, NewPod(set, plan.Create[i], hash)) }),
		batch.Parallel(len(doomed), func(i int) error { return c.remove(ctx, set, doomed[i]) }),
	)
}

// reportEnd records an event for a pod that ended although it should run forever. A failure
// increases the next delay.
func (c *Controller) reportEnd(set *apps.DaemonSet, pod *core.Pod) {
	node, _ := nodeOf(pod)
	if pod.Status.Phase == corev1.PodFailed {
		c.backoff.note(set, node, c.clock.Now())
		c.events.Eventf(set, corev1.EventTypeWarning, "FailedDaemonPod", "Pod %s on node %s has failed and is replaced", pod.Name, node)
		return
	}
	c.events.Eventf(set, corev1.EventTypeNormal, "SucceededDaemonPod", "Pod %s on node %s has succeeded and is replaced", pod.Name, node)
}

func (c *Controller) create(ctx context.Context, set *apps.DaemonSet, pod *core.Pod) error {
	created, err := c.writePod.CreatePod(ctx, pod)
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return nil // the set will be deleted as well: there is nothing to retry or report
	}
	if err != nil {
		c.events.Eventf(set, corev1.EventTypeWarning, "FailedCreate", "Error creating: %v", err)
		return fmt.Errorf("create a pod: %w", err)
	}
	c.own.Created(set.UID, created)
	c.events.Eventf(set, corev1.EventTypeNormal, "SuccessfulCreate", "Created pod: %s", created.Name)
	return nil
}

func (c *Controller) remove(ctx context.Context, set *apps.DaemonSet, pod *core.Pod) error {
	err := c.writePod.DeletePod(ctx, pod)
	// A conflict means that the UID differs: the pod was deleted and recreated.
	gone := apierrors.IsNotFound(err) || apierrors.IsConflict(err)
	if err != nil && !gone {
		c.events.Eventf(set, corev1.EventTypeWarning, "FailedDelete", "Error deleting: %v", err)
		return fmt.Errorf("delete pod %s: %w", pod.Name, err)
	}
	c.own.Deleted(set.UID, pod)
	if err == nil {
		c.events.Eventf(set, corev1.EventTypeNormal, "SuccessfulDelete", "Deleted pod: %s", pod.Name)
	}
	return nil
}

func (c *Controller) writeStatus(ctx context.Context, set *apps.DaemonSet, status appsv1.DaemonSetStatus) error {
	if sameStatus(set.Status, status) {
		return nil
	}
	updated := *set // other fields of the cached object are shared and only read
	updated.Status = status
	if err := c.writeSet.UpdateDaemonSetStatus(ctx, &updated); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("status: %w", err)
	}
	return nil
}

// forget deletes the oldest revisions beyond the limit that no pod uses.
func (c *Controller) forget(ctx context.Context, g Gathered, revisions []*appsv1.ControllerRevision) error {
	used := func(revision *appsv1.ControllerRevision) bool {
		hash := history.Hash(revision, hashLabel)
		return slices.Contains(g.Hashes, hash) ||
			slices.ContainsFunc(g.Pods, func(pod *core.Pod) bool { return pod.Labels[hashLabel] == hash })
	}
	return history.Trim(ctx, c.writeRevision, revisions, used, g.Set.Spec.RevisionHistoryLimit)
}
