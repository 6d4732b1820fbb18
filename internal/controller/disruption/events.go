package disruption

import (
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	core "github.com/allot-dev/allot/api/core/v1"
)

// onBudget handles a change in the cache of budgets.
func (c *Controller) onBudget(_, after *policyv1.PodDisruptionBudget) {
	if after != nil {
		c.queue.Add(Key{Namespace: after.Namespace, Budget: after.Name})
	}
}

// onPod handles a change in the cache of pods.
func (c *Controller) onPod(before, after *core.Pod) {
	if after != nil {
		if stale, wait := StaleMark(after, c.clock.Now()); stale || wait > 0 {
			c.queue.AddAfter(Key{Namespace: after.Namespace, Pod: after.Name}, wait)
		}
	}
	pod := after
	if pod == nil {
		pod = before
	}
	for _, b := range c.budgets.InNamespace(pod.Namespace) {
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err == nil && (matches(selector, before) || matches(selector, after)) {
			c.queue.AddAfter(Key{Namespace: b.Namespace, Budget: b.Name}, gatherWindow)
		}
	}
}

func matches(selector labels.Selector, pod *core.Pod) bool {
	return pod != nil && selector.Matches(labels.Set(pod.Labels))
}
