package model

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// OfSet is how many pods of a ReplicaSet or StatefulSet are on each node that has any, other than those that are being
// deleted. It is the State's own.
func (s *State) OfSet(set types.UID) map[*NodeInfo]int { return s.sets[set] }

// Zones is above all numbers of zones.
func (s *State) Zones() int { return len(s.zones) + 1 }

// zoneOf numbers the zones as they come. A number is never given anew.
func (s *State) zoneOf(node *Node) int {
	zone := node.Labels[corev1.LabelTopologyZone]
	if zone == "" {
		return 0
	}
	number, ok := s.zones[zone]
	if !ok {
		number = len(s.zones) + 1
		s.zones[zone] = number
	}
	return number
}

// countSet counts a pod that comes to its node, or leaves it.
func (s *State) countSet(info *NodeInfo, pod *Pod, by int) {
	if pod.Set == "" || pod.Deleting {
		return
	}
	on := s.sets[pod.Set]
	if on == nil {
		on = map[*NodeInfo]int{}
		s.sets[pod.Set] = on
	}
	if on[info] += by; on[info] == 0 {
		delete(on, info)
	}
	if len(on) == 0 {
		delete(s.sets, pod.Set)
	}
}
