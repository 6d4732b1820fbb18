package fleet

import (
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Nodes returns the Node objects of the fleet, with labels, taints, capacity and allocatable
// resources. The node agent adds addresses, conditions and nodeInfo.
func (f Fleet) Nodes() []corev1.Node {
	var nodes []corev1.Node
	for _, pool := range f.Pools {
		for i := range pool.Count {
			nodes = append(nodes, pool.node(f.Name, i))
		}
	}
	for i := range f.Copied.Nodes {
		node := f.Copied.Nodes[i].DeepCopy()
		node.Labels = withFleet(node.Labels, f.Name)
		nodes = append(nodes, *node)
	}
	return nodes
}

// withFleet returns labels with the name of the fleet.
func withFleet(labels map[string]string, fleetName string) map[string]string {
	out := map[string]string{LabelFleet: fleetName}
	for key, value := range labels {
		if key != LabelFleet {
			out[key] = value
		}
	}
	return out
}

func (p NodePool) node(fleetName string, i int) corev1.Node {
	name := p.nodeName(i)
	labels := map[string]string{
		corev1.LabelHostname:   name,
		corev1.LabelOSStable:   "linux",
		corev1.LabelArchStable: "amd64",
		LabelFleet:             fleetName,
	}
	maps.Copy(labels, p.Labels)
	maps.Copy(labels, p.unitLabels(i))
	if p.Racks.Count > 0 {
		labels[p.Racks.Label] = p.rackName(i)
	}
	return corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec:       corev1.NodeSpec{Taints: slices.Clone(p.Taints)},
		Status: corev1.NodeStatus{
			Capacity:    p.Allocatable.DeepCopy(),
			Allocatable: p.Allocatable.DeepCopy(),
		},
	}
}

func (p NodePool) nodeName(i int) string { return p.Name + "-" + strconv.Itoa(i) }

// rackName returns the name of the rack, or "" for a pool without racks. With 5 nodes in 2 racks,
// the first three are in rack 0.
func (p NodePool) rackName(i int) string {
	if p.Racks.Count == 0 {
		return ""
	}
	return p.Racks.Prefix + "-" + strconv.Itoa(i*p.Racks.Count/p.Count)
}
