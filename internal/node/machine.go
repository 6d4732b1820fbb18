package node

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/allot-dev/allot/internal/fleet"
)

// kubeletVersion is the version that simulated nodes report. Clients compare it with the server's
// version.
const kubeletVersion = "v1.37.2"

// machine is a node of the fleet.
type machine struct {
	index int
	want  corev1.Node // labels, taints, capacity and allocatable from the description of the fleet
}

// desired returns the Node to write, given the Node in the API (nil if there is none). Only fields
// of the fleet are changed. Taints are set only at creation. For a stopped machine, only the
// annotation of the Lease is removed.
func (m machine) desired(have *corev1.Node, now time.Time) *corev1.Node {
	var node *corev1.Node
	if have == nil {
		node = m.want.DeepCopy()
		node.Status = corev1.NodeStatus{}
	} else {
		node = have.DeepCopy()
	}
	if isStopped(node) {
		delete(node.Annotations, fleet.AnnotationLease)
		return node
	}
	m.setMetadata(node)
	m.setStatus(node, now)
	return node
}

func isStopped(node *corev1.Node) bool { return node.Annotations[AnnotationStopped] == "true" }

func (m machine) setMetadata(node *corev1.Node) {
	if node.Labels == nil {
		node.Labels = map[string]string{}
	}
	maps.Copy(node.Labels, m.want.Labels)
	if node.Annotations == nil {
		node.Annotations = map[string]string{}
	}
	node.Annotations[fleet.AnnotationLease] = fleet.LeaseName(m.want.Labels[fleet.LabelFleet])
}

func (m machine) setStatus(node *corev1.Node, now time.Time) {
	st := &node.Status
	st.Capacity = overlay(st.Capacity, m.want.Status.Capacity)
	st.Allocatable = overlay(st.Allocatable, m.want.Status.Allocatable)
	// the simulation supports it for all devices
	st.DeclaredFeatures = []string{"DRAOptionalNodeOperations"}
	st.Addresses = []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: nodeAddress(m.index)},
		{Type: corev1.NodeHostName, Address: node.Name},
	}
	st.NodeInfo = corev1.NodeSystemInfo{
		MachineID: node.Name, SystemUUID: node.Name, BootID: node.Name,
		KernelVersion: "simulated", OSImage: "allot simulated node", ContainerRuntimeVersion: "sim://1",
		KubeletVersion: kubeletVersion, OperatingSystem: "linux", Architecture: "amd64",
	}
	for _, c := range nodeConditions() {
		setCondition(st, c, now)
	}
}

// overlay sets the fleet's resources and keeps others.
func overlay(have, want corev1.ResourceList) corev1.ResourceList {
	out := have.DeepCopy()
	if out == nil {
		out = corev1.ResourceList{}
	}
	for name, quantity := range want {
		if old, ok := out[name]; !ok || old.Cmp(quantity) != 0 {
			out[name] = quantity.DeepCopy()
		}
	}
	return out
}

func nodeConditions() []corev1.NodeCondition {
	return []corev1.NodeCondition{
		{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse, Reason: "SimulatedNode"},
		{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse, Reason: "SimulatedNode"},
		{Type: corev1.NodePIDPressure, Status: corev1.ConditionFalse, Reason: "SimulatedNode"},
		{
			Type:    corev1.NodeReady,
			Status:  corev1.ConditionTrue,
			Reason:  "SimulatedNode",
			Message: "the simulated node is ready",
		},
	}
}

func setCondition(st *corev1.NodeStatus, want corev1.NodeCondition, now time.Time) {
	want.LastHeartbeatTime = metav1.NewTime(now)
	want.LastTransitionTime = metav1.NewTime(now)
	i := slices.IndexFunc(st.Conditions, func(c corev1.NodeCondition) bool { return c.Type == want.Type })
	if i < 0 {
		st.Conditions = append(st.Conditions, want)
		return
	}
	have := st.Conditions[i]
	if have.Status == want.Status && have.Reason == want.Reason && have.Message == want.Message {
		return
	}
	if have.Status == want.Status {
		want.LastTransitionTime = have.LastTransitionTime
	}
	st.Conditions[i] = want
}

// sameNode and sameNodeStatus compare the fields of the two kinds of writes.
func sameNode(a, b *corev1.Node) bool {
	return equality.Semantic.DeepEqual(a.Labels, b.Labels) && equality.Semantic.DeepEqual(a.Spec, b.Spec) &&
		a.Annotations[fleet.AnnotationLease] == b.Annotations[fleet.AnnotationLease]
}

func sameNodeStatus(a, b *corev1.Node) bool { return equality.Semantic.DeepEqual(a.Status, b.Status) }
