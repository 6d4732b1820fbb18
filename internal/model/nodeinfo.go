package model

import (
	"math"
	"math/bits"

	corev1 "k8s.io/api/core/v1"
)

// shift subtracts and adds amounts that pods take or the node has. Node and Pods are already as they will be.
//
// Free is the exact difference, or the end of int64 if that is beyond it. What is added to an end and subtracted again would
// not come to what it was, so that where an amount is not small, all pods are counted.
func (n *NodeInfo) shift(less, more Resources) {
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

// count returns what is free of a resource by adding up all pods.
func (n *NodeInfo) count(name corev1.ResourceName) int64 {
	var high, low uint64 // the sum; amounts that pods take are not negative
	for _, pod := range n.Pods {
		var carry uint64
		low, carry = bits.Add64(low, uint64(max(0, pod.takes()[name])), 0)
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

// NodeInfo is a node with what is left of it.
type NodeInfo struct {
	Name  string
	Node  *Node            // nil: pods are bound to it, or pools are of it, but it is not known
	Free  Resources        // allocatable minus what pods take, unless that is beyond the ends of int64; may be negative
	Pods  map[Key]*Pod     // those that count; nil as long as there was none
	Ports map[HostPort]int // nil as long as there was none
	Zone  int32            // the number of its zone; 0: it is in none
	// Number is no other node's, and small: what is worked out for many nodes is kept by it.
	Number int32
	Load   float64 // mean share of cpu, memory and pods in use, 0 to 1 (more if there is too little)
	// Spare is what Free has of the CommonResources. Thousands of nodes are looked at for a pod.
	Spare [len(CommonResources)]int64

	local []*poolEntry // pools with devices of this node alone; by ID
	views []PoolView   // what was worked out for Pools
	seen  uint64       // DeviceStore.sharing at that time; 0: it has to be worked out anew
	api   *corev1.Node // NodeStore.api

	changeLink
}

// API is the node for upstream's matchers, with its name and labels alone. It is good until the next call for any node.
func (n *NodeInfo) API() *corev1.Node {
	n.api.Name, n.api.Labels = n.Name, n.Node.Labels
	return n.api
}
