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
		batch.SlowStart(min(len(plan.Create), burst), func(i int) error {
			if _, err := c.pods.Create(ctx, set, NewPod(set, plan.Create[i], hash)); err != nil {
				return fmt.Errorf("create a pod: %w", err)
			}
			return nil
		}),
		batch.Parallel(len(doomed), func(i int) error { return c.pods.Delete(ctx, set, doomed[i]) }),
	)
}

// reportEnd records an event for a pod that ended although it should run forever. A failure
// increases the next delay.
func (c *Controller) reportEnd(set *apps.DaemonSet, pod *core.Pod) {
	node, _ := nodeOf(pod)
	if pod.Status.Phase == corev1.PodFailed {
		c.backoff.note(set, node, c.clock.Now())
		c.events.Eventf(set, corev1.EventTypeWarning, "FailedDaemonPod", "Pod %s on node %s has failed and is replaced",
			pod.Name, node)
		return
	}
	c.events.Eventf(set, corev1.EventTypeNormal, "SucceededDaemonPod", "Pod %s on node %s has succeeded and is replaced",
		pod.Name, node)
}

func (c *Controller) writeStatus(ctx context.Context, set *apps.DaemonSet, status appsv1.DaemonSetStatus) error {
	if sameStatus(set.Status, status) {
		return nil
	}
	updated := *set // other fields of the cached object are shared and only read
	updated.Status = status
	if _, err := c.setServer.UpdateStatus(ctx, &updated); err != nil && !apierrors.IsNotFound(err) {
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
	return history.Trim(ctx, c.revisionServer, revisions, used, g.Set.Spec.RevisionHistoryLimit)
}
