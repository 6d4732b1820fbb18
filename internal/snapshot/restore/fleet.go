package restore

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/allot-dev/allot/internal/fleet"
	"github.com/allot-dev/allot/internal/node"
	"github.com/allot-dev/allot/internal/snapshot"
)

// Fleet returns a fleet with the nodes and devices of the Snapshot. Machines of nodes that are not
// ready are stopped.
func Fleet(snap *snapshot.Snapshot) fleet.Fleet {
	f := fleet.Fleet{Name: fleet.DefaultName}
	for _, n := range snap.Objects.Nodes {
		copied := corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels, Annotations: n.Annotations},
			Spec:       corev1.NodeSpec{Taints: n.Spec.Taints, Unschedulable: n.Spec.Unschedulable},
			Status:     corev1.NodeStatus{Capacity: n.Status.Capacity, Allocatable: n.Status.Allocatable},
		}
		if isDown(n) {
			copied.Annotations = map[string]string{node.AnnotationStopped: "true"}
		}
		f.Copied.Nodes = append(f.Copied.Nodes, copied)
	}
	for _, slice := range snap.Objects.Slices {
		f.Copied.Slices = append(f.Copied.Slices, resourcev1.ResourceSlice{
			ObjectMeta: metav1.ObjectMeta{Name: slice.Name, Labels: slice.Labels}, Spec: slice.Spec,
		})
	}
	return f
}

// isDown reports whether a node has the condition Ready, and it is not true.
func isDown(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue
	})
}
