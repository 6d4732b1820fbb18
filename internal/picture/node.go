package picture

import (
	"cmp"
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/snapshot"
)

// Node is a node with the devices that only it can use.
type Node struct {
	Name string `json:"name"`
	Rack string `json:"rack,omitempty"`
	// Why is why the node takes no pods, or only some; "" if it takes pods.
	Why string `json:"why,omitempty"`
	// Pods is the number of pods on the node that have not finished.
	Pods    int      `json:"pods,omitempty"`
	Devices []Device `json:"devices,omitempty"`
}

// Key returns the name of the node.
func (n *Node) Key() string { return n.Name }

func (n *Node) equal(other *Node) bool {
	return n.Name == other.Name && n.Rack == other.Rack && n.Why == other.Why && n.Pods == other.Pods &&
		equalDevices(n.Devices, other.Devices)
}

// nodeOf returns a node without its devices.
func nodeOf(node *corev1.Node, label string) *Node {
	return &Node{Name: node.Name, Rack: node.Labels[label], Why: refusal(node)}
}

// refusal returns why a node takes no pods, or only some.
func refusal(node *corev1.Node) string {
	if node.DeletionTimestamp != nil {
		return "is being deleted"
	}
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
			return "is not ready: " + cmp.Or(c.Message, c.Reason, string(c.Status))
		}
	}
	if node.Spec.Unschedulable {
		return "is cordoned"
	}
	var taints []string
	for i := range node.Spec.Taints {
		if taint := &node.Spec.Taints[i]; taint.Effect != corev1.TaintEffectPreferNoSchedule {
			taints = append(taints, taint.ToString())
		}
	}
	if len(taints) > 0 {
		return "is tainted: " + strings.Join(taints, ", ")
	}
	return ""
}

// rackLabel returns the node label that names racks: the one named rack that most nodes have, or
// the label of zones if there is none; "" if nodes have neither.
func rackLabel(world *snapshot.World) string {
	counts := map[string]int{}
	for node := range world.Nodes.All() {
		for label := range node.Labels {
			if path.Base(label) == "rack" || label == corev1.LabelTopologyZone {
				counts[label]++
			}
		}
	}
	zone := counts[corev1.LabelTopologyZone] > 0
	delete(counts, corev1.LabelTopologyZone)
	best := ""
	for label, n := range counts {
		if n > counts[best] || n == counts[best] && label < best {
			best = label
		}
	}
	if best == "" && zone {
		return corev1.LabelTopologyZone
	}
	return best
}

// nodeOfAllocation returns the name of the only node from which the devices of an allocation can be
// used, or "".
func nodeOfAllocation(a *model.Allocation) string {
	if a.NodeSelector == nil || len(a.NodeSelector.NodeSelectorTerms) != 1 {
		return ""
	}
	for _, field := range a.NodeSelector.NodeSelectorTerms[0].MatchFields {
		if field.Operator == corev1.NodeSelectorOpIn && len(field.Values) == 1 {
			return field.Values[0]
		}
	}
	return ""
}
