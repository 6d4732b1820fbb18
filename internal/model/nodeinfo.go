package model

import (
	"math"
	"math/bits"

	corev1 "k8s.io/api/core/v1"
)

// adjustFree subtracts less from the free amounts and adds more. Node and Pods must already be in the
// new state.
//
// Free is the exact difference, or the end of the range of int64. An end of the range cannot be
// restored by the inverse operation, so if an amount is not small, the sum over all pods is
// computed.
func (n *NodeInfo) adjustFree(less, more Resources) {
	for name, amount := range less {
		plus := more[name]
		if free := n.Free[name]; isSmall(free) && isSmall(amount) && isSmall(plus) {
			n.Free.set(name, free-amount+plus)
		} else {
			n.Free.set(name, n.count(name))
		}
	}
	for name, amount := range more {
		if _, done := less[name]; done {
			continue
		}
		if free := n.Free[name]; isSmall(free) && isSmall(amount) {
			n.Free.set(name, free+amount)
		} else {
			n.Free.set(name, n.count(name))
		}
	}
}

// count returns the free amount of a resource by adding up all pods.
func (n *NodeInfo) count(name corev1.ResourceName) int64 {
	var high, low uint64 // the 128-bit sum; no pod uses a negative amount
	for _, pod := range n.Pods {
		var carry uint64
		low, carry = bits.Add64(low, uint64(max(0, pod.nodeUsage()[name])), 0)
		high += carry
	}
	has := n.Node.allocatable()[name]
	switch {
	case high == 0 && low <= math.MaxInt64:
		return SubAmounts(has, int64(low))
	case high == 0 && has >= 0 && low-uint64(has) < -math.MinInt64:
		return -int64(low - uint64(has))
	}
	return math.MinInt64
}

// NodeInfo is a node with its pods and free resources.
type NodeInfo struct {
	Name  string
	Node  *Node            // nil if the node is unknown, and pods are bound to it or pools are for it
	Free  Resources        // allocatable minus used, limited to the range of int64; can be negative
	Pods  map[Key]*Pod     // pods that use resources; nil while there was none
	Ports map[HostPort]int // nil while there was none
	Zone  int32            // number of its zone; 0: none
	// Number is small and unique among nodes, so that results for many nodes can be kept in slices.
	Number int32
	Load   float64 // mean share of cpu, memory and pods in use, 0 to 1, or more if overcommitted
	// Spare contains Free for the CommonResources, because filters read them for thousands of
	// nodes.
	Spare [len(CommonResources)]int64

	local []*poolEntry // pools with devices that only this node can use; by ID
	views []PoolView   // cached result of DeviceStore.Pools
	seen  uint64       // DeviceStore.sharing when views was cached; 0 if it is not valid
	api   *corev1.Node // NodeStore.api

	changeLink
}

// API returns a Node with name and labels only, for upstream's matchers. The result is reused by
// the next call for any node.
func (n *NodeInfo) API() *corev1.Node {
	n.api.Name, n.api.Labels = n.Name, n.Node.Labels
	return n.api
}
