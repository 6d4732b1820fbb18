package model

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	podresources "k8s.io/component-helpers/resource"
)

// DrawLimit is the remainder of a pod-level limit (spec.resources.limits) for draws of devices.
type DrawLimit struct {
	Resource corev1.ResourceName
	// Container is the container whose own limit and draws must stay within the pod-level limit. It
	// is empty for huge pages, of which all containers together must.
	Container string
	Left      int64
}

// Exceeded returns by how much the draws exceed the limit.
func (l *DrawLimit) Exceeded(draws []Draw) int64 {
	drawn := Drawn(draws)
	if l.Container != "" {
		drawn = DrawnBy(draws, l.Container)
	}
	return max(0, SubAmounts(drawn[l.Resource], l.Left))
}

// drawLimitsFrom returns Shape.DrawLimits, ordered by resource and container.
func drawLimitsFrom(pod *corev1.Pod) []DrawLimit {
	if pod.Spec.Resources == nil || len(pod.Spec.Resources.Limits) == 0 {
		return nil
	}
	bounded := boundedPod(pod)
	ofContainers := ResourcesFrom(podresources.AggregateContainerLimits(bounded, podresources.PodResourcesOptions{}))
	var limits []DrawLimit
	for name, amount := range ResourcesFrom(bounded.Spec.Resources.Limits) {
		if strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix) {
			limits = append(limits, DrawLimit{Resource: name, Left: SubAmounts(amount, ofContainers[name])})
			continue
		}
		for i := range bounded.Spec.Containers {
			c := &bounded.Spec.Containers[i]
			if own, limited := ResourcesFrom(c.Resources.Limits)[name]; limited {
				limits = append(limits, DrawLimit{Resource: name, Container: c.Name, Left: SubAmounts(amount, own)})
			}
		}
	}
	slices.SortFunc(limits, func(a, b DrawLimit) int {
		return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Container, b.Container))
	})
	return limits
}
