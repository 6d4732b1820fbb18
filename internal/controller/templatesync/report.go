package templatesync

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	allotv1alpha1 "github.com/allot-dev/allot/api/allot/v1alpha1"
)

// ReconcileStatus writes the status of an original, if it has changed.
func (c *Controller) ReconcileStatus(ctx context.Context, name string) error {
	o := c.original(name)
	if o == nil || o.DeletionTimestamp != nil {
		return nil
	}
	all, complete := c.standings(o)
	if !complete {
		c.statuses.AddAfter(name, settle)
		return nil
	}
	status := statusOf(o, all, metav1.NewTime(c.clock.Now()))
	c.meter.Stands(name, status.Wanted, status.InStep, status.Conflicting)
	if apiequality.Semantic.DeepEqual(o.Status, status) {
		return nil
	}
	if err := c.originals.WriteStatus(ctx, o, status); err != nil {
		return fmt.Errorf("status of ClusterResourceClaimTemplate %s: %w", name, err)
	}
	c.recordInSyncEvent(o, status)
	return nil
}

func (c *Controller) original(name string) *Original {
	for _, o := range c.cache.Originals() {
		if o.Name == name {
			return o
		}
	}
	return nil
}

// standings returns the standings of o in all namespaces that it selects. They are complete when
// each namespace was reconciled. Before that, a restart would make the status shrink and grow.
func (c *Controller) standings(o *Original) (all []namespaceStanding, complete bool) {
	for _, namespace := range c.cache.Namespaces() {
		d := decision{namespace: namespace}
		if namespace.DeletionTimestamp != nil || !d.needsCopy(o) {
			continue
		}
		if !c.board.isReconciled(namespace.Name) {
			return nil, false
		}
		all = append(all, namespaceStanding{namespace.Name, c.board.standing(namespace.Name, o)})
	}
	return all, true
}

// recordInSyncEvent records an event when InSync is False for a reason other than progress, and when it is
// True after that or for the first time in a generation. New and deleted namespaces cause no
// events.
func (c *Controller) recordInSyncEvent(o *Original, status allotv1alpha1.ClusterResourceClaimTemplateStatus) {
	before := meta.FindStatusCondition(o.Status.Conditions, allotv1alpha1.ConditionInSync)
	after := meta.FindStatusCondition(status.Conditions, allotv1alpha1.ConditionInSync)
	if after.Reason == reasonProgressing ||
		before != nil && before.Reason == after.Reason && before.Message == after.Message {
		return
	}
	kind := corev1.EventTypeWarning
	if after.Status == metav1.ConditionTrue {
		kind = corev1.EventTypeNormal
		if !c.inSyncEvents.isNew(o.UID, o.Generation) {
			return
		}
	} else {
		c.inSyncEvents.drop(o.UID)
	}
	c.events.Eventf(&corev1.ObjectReference{
		APIVersion: allotv1alpha1.SchemeGroupVersion.String(), Kind: allotv1alpha1.KindClusterResourceClaimTemplate,
		Name: o.Name, UID: o.UID, ResourceVersion: o.ResourceVersion,
	}, kind, after.Reason, "%s", after.Message)
}
