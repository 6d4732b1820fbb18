package statefulset

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

// onSet handles a change in the cache of StatefulSets.
func (c *Controller) onSet(before, after *apps.StatefulSet) {
	if after != nil {
		c.queue.Add(reconciler.KeyOf(after))
	}
	if before != nil && (after == nil || after.UID != before.UID) {
		c.pods.Forget(before.UID)
	}
}

// onPod handles a change in the cache of pods. It is called in the order of events, which
// expectations require.
func (c *Controller) onPod(before, after *core.Pod) {
	c.pods.Observe(before, after)
	watch := ownership.Watch[*apps.StatefulSet, *core.Pod]{
		Kind: kind, InNamespace: c.sets.InNamespace,
		SelectorOf: func(set *apps.StatefulSet) *metav1.LabelSelector { return set.Spec.Selector },
		Ask:        func(key types.NamespacedName) { c.queue.AddAfter(key, gatherWindow) },
	}
	watch.OnChange(before, after)
}

// onClaim handles a change in the cache of volume claims. The creation of a pod may wait for the
// deletion of a claim or for a change of its owners.
func (c *Controller) onClaim(before, after *corev1.PersistentVolumeClaim) {
	if before == nil || after != nil && equality.Semantic.DeepEqual(before.OwnerReferences, after.OwnerReferences) {
		return
	}
	for _, set := range c.sets.InNamespace(before.Namespace) {
		if hasClaim(set, before.Name) {
			c.queue.AddAfter(reconciler.KeyOf(set), gatherWindow)
		}
	}
}
