package daemonset

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	apps "github.com/allot-dev/allot/api/apps/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/controller/ownership"
	"github.com/allot-dev/allot/internal/controller/reconciler"
)

// onSet handles a change in the cache of DaemonSets.
func (c *Controller) onSet(before, after *apps.DaemonSet) {
	if after != nil {
		c.queue.Add(reconciler.KeyOf(after))
	}
	if before != nil && (after == nil || after.UID != before.UID) {
		c.pods.Forget(before.UID)
		c.backoff.forget(before.UID)
	}
}

// onPod handles a change in the cache of pods. It is called in the order of events, which
// expectations require.
func (c *Controller) onPod(before, after *core.Pod) {
	c.pods.Observe(before, after)
	watch := ownership.Watch[*apps.DaemonSet, *core.Pod]{
		Kind: kind, InNamespace: c.sets.InNamespace,
		SelectorOf: func(set *apps.DaemonSet) *metav1.LabelSelector { return set.Spec.Selector },
		Ask:        func(key types.NamespacedName) { c.queue.AddAfter(key, gatherWindow) },
	}
	watch.OnChange(before, after)
}

// onNode handles a change in the cache of nodes, and enqueues the sets for which the suitability of
// the node has changed.
func (c *Controller) onNode(before, after *corev1.Node) {
	if before != nil && after != nil && equality.Semantic.DeepEqual(before.Labels, after.Labels) &&
		equality.Semantic.DeepEqual(before.Spec.Taints, after.Spec.Taints) {
		return // heartbeats are frequent
	}
	for _, set := range c.sets.List() {
		suits := suitabilityOf(&set.Spec.Template)
		if after == nil || suits.verdictFor(before) != suits.verdictFor(after) {
			c.queue.AddAfter(reconciler.KeyOf(set), gatherWindow)
		}
	}
}
