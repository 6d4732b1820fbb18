package deployment

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	apps "github.com/allot-dev/allot/api/apps/v1"
	"github.com/allot-dev/allot/internal/controller/reconciler"
)

// onDeployment takes an event of the cache of Deployments.
func (c *Controller) onDeployment(_, after *apps.Deployment) {
	if after != nil {
		c.queue.Add(reconciler.KeyOf(after))
	}
}

// onSet takes an event of the cache of ReplicaSets. Pods need no handler of their own:
// whatever changes for a Deployment is counted in a ReplicaSet's status.
func (c *Controller) onSet(before, after *apps.ReplicaSet) {
	c.addOwner(before)
	c.addOwner(after)
	if after != nil && metav1.GetControllerOfNoCopy(after) == nil && (before == nil || !sameClaim(before, after)) {
		c.addAdopters(after)
	}
}

func (c *Controller) addOwner(rs *apps.ReplicaSet) {
	if rs == nil {
		return
	}
	if owner := metav1.GetControllerOfNoCopy(rs); owner != nil && owner.Kind == kind.Kind {
		c.queue.AddAfter(types.NamespacedName{Namespace: rs.Namespace, Name: owner.Name}, gatherWindow)
	}
}

func (c *Controller) addAdopters(orphan *apps.ReplicaSet) {
	for _, d := range c.deployments.InNamespace(orphan.Namespace) {
		selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
		if err == nil && selector.Matches(labels.Set(orphan.Labels)) {
			c.queue.AddAfter(reconciler.KeyOf(d), gatherWindow)
		}
	}
}

// sameClaim says that nothing changed which decides who may adopt the set.
func sameClaim(before, after *apps.ReplicaSet) bool {
	return maps.Equal(before.Labels, after.Labels) &&
		(metav1.GetControllerOfNoCopy(before) == nil) == (metav1.GetControllerOfNoCopy(after) == nil)
}
