package model

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Draw is the amount of a node's own resources that a pod uses through the devices of one claim
// (nodeAllocatableResources), as in the pod's status.
type Draw = corev1.NodeAllocatableResourceClaimStatus

// Drawn returns the sum of the draws. A mapped resource counts once for a claim; overhead counts
// for the pod and for each container that uses the claim.
func Drawn(draws []Draw) Resources {
	sum := amountSum{}
	for i := range draws {
		sum.addDraw(&draws[i], len(draws[i].Containers))
	}
	return ResourcesFrom(corev1.ResourceList(sum))
}

// DrawnBy returns what one container draws, which is all of each claim that it uses, apart from the
// overhead of other containers.
func DrawnBy(draws []Draw, container string) Resources {
	sum := amountSum{}
	for i := range draws {
		if slices.Contains(draws[i].Containers, container) {
			sum.addDraw(&draws[i], 1)
		}
	}
	return ResourcesFrom(corev1.ResourceList(sum))
}

// amountSum adds up amounts of resources.
type amountSum corev1.ResourceList

// addDraw adds a draw with the overhead of this number of containers.
func (s amountSum) addDraw(d *Draw, containers int) {
	for _, mapped := range d.Mapping {
		s.add(mapped.Name, mapped.Quantity, 1)
	}
	for _, overhead := range d.Overhead {
		s.add(overhead.Name, overhead.PerPod, 1)
		s.add(overhead.Name, overhead.PerContainer, containers)
	}
}

func (s amountSum) add(name corev1.ResourceName, amount *resource.Quantity, times int) {
	if amount == nil {
		return
	}
	total := s[name]
	for range times {
		total.Add(Bounded(*amount))
	}
	s[name] = total
}

// DrawnBeyondBudgets returns the part of the draws that the pod's requests do not include. The
// pod-level request of a resource includes draws of that resource.
func (s *Shape) DrawnBeyondBudgets(draws []Draw) Resources {
	drawn := Drawn(draws)
	for name := range s.DrawBudgets {
		delete(drawn, name)
	}
	return drawn
}

// HasDraws reports whether any device uses resources of its node.
func (s *DeviceStore) HasDraws() bool {
	s.settle()
	return s.drawing > 0
}

// Draw returns the resources that a pod uses through a claim with this allocation, used by these
// containers; false if it uses none. Devices that are not published count as nothing.
func (s *DeviceStore) Draw(claim string, a *Allocation, containers []string) (Draw, bool) {
	mapping, overhead := corev1.ResourceList{}, map[corev1.ResourceName]corev1.NodeAllocatableOverheadResources{}
	for i := range a.results() {
		result := &a.Devices[i]
		pool, ok := s.Pool(DeviceIDOf(*result).PoolID())
		if !ok {
			continue
		}
		at, ok := pool.Index(result.Device)
		if !ok {
			continue
		}
		for name, r := range pool.Devices[at].NodeResources {
			if amount, ok := mapped(r.Mapping, result); ok {
				sum := mapping[name]
				sum.Add(amount) // exact: a Quantity does not wrap
				mapping[name] = sum
			}
			if r.Overhead != nil {
				sum := overhead[name]
				sum.Name, sum.PerPod, sum.PerContainer = name, sumOf(sum.PerPod, r.Overhead.PerPod), sumOf(
					sum.PerContainer,
					r.Overhead.PerContainer,
				)
				overhead[name] = sum
			}
		}
	}
	if len(mapping)+len(overhead) == 0 {
		return Draw{}, false
	}
	d := Draw{ResourceClaimName: claim, Containers: containers}
	for _, name := range slices.SortedFunc(maps.Keys(mapping), cmp.Compare) {
		amount := mapping[name]
		d.Mapping = append(d.Mapping, corev1.NodeAllocatableMappedResources{Name: name, Quantity: &amount})
	}
	for _, name := range slices.SortedFunc(maps.Keys(overhead), cmp.Compare) {
		d.Overhead = append(d.Overhead, overhead[name])
	}
	return d, true
}

// mapped returns the amount of a node resource that one device represents: a multiple of the
// device, or of its consumed capacity.
func mapped(
	m *resourcev1.NodeAllocatableMapping, result *resourcev1.DeviceRequestAllocationResult,
) (resource.Quantity, bool) {
	switch {
	case m == nil:
		return resource.Quantity{}, false
	case m.CapacityKey == nil || *m.CapacityKey == "":
		if m.DeviceMultiplier == nil {
			return resource.Quantity{}, false
		}
		return Bounded(*m.DeviceMultiplier), true
	}
	consumed, ok := result.ConsumedCapacity[*m.CapacityKey]
	if !ok {
		return resource.Quantity{}, false
	}
	consumed = Bounded(consumed.DeepCopy())
	if m.CapacityMultiplier != nil {
		multiplier := Bounded(*m.CapacityMultiplier)
		product := decimal(consumed)
		product.Mul(product, decimal(multiplier))
		consumed = *resource.NewDecimalQuantity(*product, consumed.Format)
	}
	return consumed, true
}

func sumOf(sum, more *resource.Quantity) *resource.Quantity {
	switch {
	case more == nil:
		return sum
	case sum == nil:
		total := Bounded(more.DeepCopy())
		return &total
	}
	sum.Add(Bounded(*more))
	return sum
}

// draws reports whether devices of the pool use resources of nodes.
func (p *Pool) draws() bool {
	return p.Any(func(u *Usage) bool { return len(u.NodeResources) > 0 })
}

// takesLessThan reports whether the pod uses less of some resource than another version of it: it
// was resized, or its draws were removed.
func (p *Pod) takesLessThan(other *Pod) bool {
	mine, others := p.nodeUsage(), other.nodeUsage()
	for name, amount := range others {
		if mine[name] < amount {
			return true
		}
	}
	return false
}

func (p *Pod) nodeUsage() Resources {
	if len(p.Draws) == 0 {
		return p.Shape.Requests
	}
	sum := p.Shape.Requests.Clone()
	sum.Add(p.Shape.DrawnBeyondBudgets(p.Draws))
	return sum
}
