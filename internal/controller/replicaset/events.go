package replicaset

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	apps "github.com/allot-dev/allot/api/apps/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/controller/ownership"
	"github.com/allot-dev/allot/internal/controller/reconciler"
)

// OnSet handles a change in the cache of ReplicaSets.
func (c *Controller) OnSet(before, after *apps.ReplicaSet) {
	if after != nil {
		c.queue.Add(reconciler.KeyOf(after))
	}
	if before != nil && (after == nil || after.UID != before.UID) {
		c.pods.Forget(before.UID)
	}
}

// OnPod handles a change in the cache of pods. It is called in the order of events, which
// expectations require.
func (c *Controller) OnPod(before, after *core.Pod) {
	c.pods.Observe(before, after)
	watch := ownership.Watch[*apps.ReplicaSet, *core.Pod]{
		Kind: c.Kind, InNamespace: c.Sets.InNamespace,
		SelectorOf: func(rs *apps.ReplicaSet) *metav1.LabelSelector { return rs.Spec.Selector },
		Ask:        func(key types.NamespacedName) { c.queue.AddAfter(key, gatherWindow) },
	}
	watch.OnChange(before, after)
}
