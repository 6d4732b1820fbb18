package statefulset

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apps "github.com/allot-dev/allot/api/apps/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/controller/batch"
	"github.com/allot-dev/allot/internal/controller/history"
)

// act carries out a plan until the first error: later steps assume that earlier ones succeeded.
func (c *Controller) act(ctx context.Context, set *apps.StatefulSet, plan Plan) error {
	for _, why := range plan.Blocked {
		c.events.Eventf(set, corev1.EventTypeWarning, "FailedCreate", "Waiting to create %s", why)
	}
	for _, name := range plan.Foreign {
		c.events.Eventf(set, corev1.EventTypeWarning, "ConflictingController",
			"PersistentVolumeClaim %s has another controller: the retention policy does not hold for it", name)
	}
	for _, claim := range plan.Supply {
		if err := c.createClaim(ctx, set, claim); err != nil {
			return err
		}
	}
	for _, claim := range plan.Own {
		if err := c.updateClaim(ctx, set, claim); err != nil {
			return err
		}
	}
	for _, pod := range plan.Label {
		if err := c.label(ctx, set, pod); err != nil {
			return err
		}
	}
	if err := batch.SlowStart(len(plan.Create), func(i int) error {
		return c.create(ctx, set,
			plan.Create[i])
	}); err != nil {
		return err
	}
	return batch.Parallel(len(plan.Delete), func(i int) error { return c.pods.Delete(ctx, set, plan.Delete[i]) })
}

// create creates the volume claims of a member before its pod: a pod must not exist without them.
func (c *Controller) create(ctx context.Context, set *apps.StatefulSet, member Member) error {
	for _, claim := range member.Claims {
		if err := c.createClaim(ctx, set, claim); err != nil {
			return err
		}
	}
	if _, err := c.pods.Create(ctx, set, member.Pod); err != nil {
		return fmt.Errorf("create pod %s: %w", member.Pod.Name, err)
	}
	return nil
}

// createClaim creates a volume claim. An existing one is used: the cache is behind, or a user
// created it.
func (c *Controller) createClaim(
	ctx context.Context, set *apps.StatefulSet, claim *corev1.PersistentVolumeClaim,
) error {
	_, err := c.claimServer.Create(ctx, claim)
	switch {
	case err == nil:
		c.events.Eventf(set, corev1.EventTypeNormal, "SuccessfulCreate", "Created persistentvolumeclaim: %s", claim.Name)
		return nil
	case apierrors.IsAlreadyExists(err), apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return nil
	}
	c.events.Eventf(set, corev1.EventTypeWarning, "FailedCreate", "Error creating persistentvolumeclaim %s: %v",
		claim.Name, err)
	return fmt.Errorf("create persistentvolumeclaim %s: %w", claim.Name, err)
}

// updateClaim writes the owner references of a volume claim. A claim that is to be deleted with a
// pod that was scaled away is not reported: the deletion of the pod is.
func (c *Controller) updateClaim(
	ctx context.Context, set *apps.StatefulSet, claim *corev1.PersistentVolumeClaim,
) error {
	_, err := c.claimServer.Update(ctx, claim)
	switch {
	case err == nil:
		if slices.ContainsFunc(
			claim.OwnerReferences, func(ref metav1.OwnerReference) bool { return ref.Kind == podKind.Kind },
		) {
			return nil
		}
		c.events.Eventf(set, corev1.EventTypeNormal, "SuccessfulUpdate", "Updated owners of persistentvolumeclaim: %s",
			claim.Name)
		return nil
	case apierrors.IsNotFound(err):
		return nil
	case !apierrors.IsConflict(err):
		c.events.Eventf(set, corev1.EventTypeWarning, "FailedUpdate",
			"Error updating owners of persistentvolumeclaim %s: %v", claim.Name, err)
	}
	return fmt.Errorf("owners of persistentvolumeclaim %s: %w", claim.Name, err)
}

// label sets the labels of its identity on a pod, such as an adopted one.
func (c *Controller) label(ctx context.Context, set *apps.StatefulSet, pod *core.Pod) error {
	ordinal, _ := ordinalOf(set, pod)
	patch, err := json.Marshal(
		map[string]any{"metadata": map[string]any{"uid": pod.UID, "labels": identity(pod.Name, ordinal)}},
	)
	if err != nil {
		return fmt.Errorf("encode the labels of pod %s: %w", pod.Name, err)
	}
	if err := c.pods.Patch(ctx, pod, patch); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("label pod %s: %w", pod.Name, err)
	}
	c.events.Eventf(set, corev1.EventTypeNormal, "SuccessfulUpdate", "Updated labels of pod: %s", pod.Name)
	return nil
}

func (c *Controller) writeStatus(ctx context.Context, set *apps.StatefulSet, status appsv1.StatefulSetStatus) error {
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
	if g.Set.DeletionTimestamp != nil {
		return nil
	}
	inUse := map[string]bool{g.Current.Name: true, g.Update.Name: true}
	for _, pod := range g.Pods {
		inUse[revisionOf(pod)] = true
	}
	used := func(r *appsv1.ControllerRevision) bool { return inUse[r.Name] }
	return history.Trim(ctx, c.revisionServer, revisions, used, g.Set.Spec.RevisionHistoryLimit)
}
