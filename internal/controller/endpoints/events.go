package endpoints

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/labels"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/controller/reconciler"
	"github.com/allot-dev/allot/internal/controller/serviceslices"
)

// onService handles a change in the cache of Services.
func (c *Controller) onService(before, after *corev1.Service) {
	if after == nil {
		after = before
	}
	c.queue.Add(reconciler.KeyOf(after))
}

// onPod handles a change in the cache of pods.
func (c *Controller) onPod(before, after *core.Pod) {
	pod := after
	if pod == nil {
		pod = before
	}
	services := c.services.InNamespace(pod.Namespace)
	if len(services) == 0 || before != nil && after != nil && sameEndpoint(before, after) {
		return
	}
	for _, s := range services {
		if len(s.Spec.Selector) > 0 && (selects(s, before) || selects(s, after)) {
			c.queue.AddAfter(reconciler.KeyOf(s), serviceslices.GatherWindow)
		}
	}
}

func selects(s *corev1.Service, pod *core.Pod) bool {
	return pod != nil && labels.Set(s.Spec.Selector).AsSelectorPreValidated().Matches(labels.Set(pod.Labels))
}

// sameEndpoint reports whether a change of a pod does not matter for endpoints.
func sameEndpoint(before, after *core.Pod) bool {
	return maps.Equal(before.Labels, after.Labels) && before.Status.Phase == after.Status.Phase &&
		before.Spec.NodeName == after.Spec.NodeName && before.UID == after.UID &&
		(before.DeletionTimestamp == nil) == (after.DeletionTimestamp == nil) && ready(before) == ready(after) &&
		equality.Semantic.DeepEqual(before.Status.PodIPs, after.Status.PodIPs)
}

func ready(pod *core.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// onSlice handles a change in the cache of EndpointSlices: one that this controller did not make.
func (c *Controller) onSlice(before, after *discoveryv1.EndpointSlice) {
	if service, ok := c.own.Disturbed(before, after); ok {
		c.queue.AddAfter(service, serviceslices.GatherWindow)
	}
}
