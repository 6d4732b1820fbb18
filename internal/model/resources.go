package model

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Resources contains the amounts that a node has or a pod requests: cpu in thousandths, all others
// in whole units. A pod counts as one of corev1.ResourcePods.
type Resources map[corev1.ResourceName]int64

// CommonResources are the resources that most pods request.
var CommonResources = [...]corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods}

// ResourcesFrom converts a list of quantities; fractions are rounded up.
func ResourcesFrom(list corev1.ResourceList) Resources {
	r := make(Resources, len(list)+1)
	for name, quantity := range list {
		if name == corev1.ResourceCPU {
			r[name] = AmountOf(quantity, resource.Milli)
		} else {
			r[name] = AmountOf(quantity, 0)
		}
	}
	return r
}

// allocatableFrom converts the allocatable resources of a node.
func allocatableFrom(list corev1.ResourceList) Resources {
	r := ResourcesFrom(list)
	for name, amount := range r {
		r[name] = min(amount, MaxSupply)
	}
	return r
}

// Add adds other in place and removes zero amounts, so that equal amounts compare equal.
func (r Resources) Add(other Resources) {
	for name, amount := range other {
		r.set(name, AddAmounts(r[name], amount))
	}
}

func (r Resources) set(name corev1.ResourceName, amount int64) {
	if amount == 0 {
		delete(r, name)
		return
	}
	r[name] = amount
}

// Clone returns a copy.
func (r Resources) Clone() Resources { return maps.Clone(r) }
