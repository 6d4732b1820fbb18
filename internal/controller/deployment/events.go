package deployment

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	apps "github.com/allot-dev/allot/api/apps/v1"
	"github.com/allot-dev/allot/internal/controller/ownership"
	"github.com/allot-dev/allot/internal/controller/reconciler"
)

// onDeployment handles a change in the cache of Deployments.
func (c *Controller) onDeployment(_, after *apps.Deployment) {
	if after != nil {
		c.queue.Add(reconciler.KeyOf(after))
	}
}

// onSet handles a change in the cache of ReplicaSets. Pods need no handler: all relevant changes
// are counted in the status of a ReplicaSet.
func (c *Controller) onSet(before, after *apps.ReplicaSet) {
	watch := ownership.Watch[*apps.Deployment, *apps.ReplicaSet]{
		Kind: kind, InNamespace: c.deployments.InNamespace,
		SelectorOf: func(d *apps.Deployment) *metav1.LabelSelector { return d.Spec.Selector },
		Ask:        func(key types.NamespacedName) { c.queue.AddAfter(key, gatherWindow) },
	}
	watch.OnChange(before, after)
}
