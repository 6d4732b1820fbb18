package model

import (
	"math"
	"math/bits"

	corev1 "k8s.io/api/core/v1"
)

// small is the end of the amounts of which two can be added and one subtracted without a look at the ends of int64.
const small = 1 << 61

// isSmall reports whether an amount is between -small and small.
func isSmall(amount int64) bool { return amount > -small && amount < small }

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
