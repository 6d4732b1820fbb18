package replicaset

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	apps "github.com/allot-dev/allot/api/apps/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/controller/reconciler"
)

// onSet takes an event of the cache of ReplicaSets.
func (c *Controller) onSet(before, after *apps.ReplicaSet) {
	if after != nil {
		c.queue.Add(reconciler.KeyOf(after))
	}
	if before != nil && (after == nil || after.UID != before.UID) {
		c.own.Forget(before.UID)
	}
}

// onPod takes an event of the cache of pods. It is called in the order of the events,
// as the expectations need it.
func (c *Controller) onPod(before, after *core.Pod) {
	if after != nil {
		c.own.Observe(after)
	} else {
		c.own.Observe(before)
	}
	c.addOwner(before)
	c.addOwner(after)
	if after != nil && metav1.GetControllerOfNoCopy(after) == nil && (before == nil || !sameClaim(before, after)) {
		c.addAdopters(after)
	}
}

// addOwner asks for the ReplicaSet that controls pod, if any.
func (c *Controller) addOwner(pod *core.Pod) {
	if pod == nil {
		return
	}
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil || owner.Kind != kind.Kind {
		return
	}
	c.queue.AddAfter(types.NamespacedName{Namespace: pod.Namespace, Name: owner.Name}, gatherWindow)
}

// addAdopters asks for the ReplicaSets that an orphan matches.
func (c *Controller) addAdopters(orphan *core.Pod) {
	for _, rs := range c.sets.InNamespace(orphan.Namespace) {
		selector, err := metav1.LabelSelectorAsSelector(rs.Spec.Selector)
		if err == nil && selector.Matches(labels.Set(orphan.Labels)) {
			c.queue.AddAfter(reconciler.KeyOf(rs), gatherWindow)
		}
	}
}

// sameClaim says that nothing changed which decides who may adopt the pod.
func sameClaim(before, after *core.Pod) bool {
	return maps.Equal(before.Labels, after.Labels) &&
		(metav1.GetControllerOfNoCopy(before) == nil) == (metav1.GetControllerOfNoCopy(after) == nil)
}
