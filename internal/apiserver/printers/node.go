package printers

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Labels with a node's roles: a prefix followed by the role, and a deprecated label with the role
// as its value.
const (
	rolePrefix = "node-role.kubernetes.io/"
	roleLabel  = "kubernetes.io/role"
)

// Node returns the printer of Nodes.
func Node() Printer {
	return typed([]metav1.TableColumnDefinition{
		nameColumn(),
		computedColumn("Status", "string", "Whether the node is ready, and whether new pods may be placed on it."),
		computedColumn("Roles", "string", "The roles in the node's labels."),
		ageColumn(),
		column("Version", "string", corev1.NodeSystemInfo{}, "kubeletVersion"),
		wideOnly(column("Internal-IP", "string", corev1.NodeStatus{}, "addresses")),
		wideOnly(column("External-IP", "string", corev1.NodeStatus{}, "addresses")),
		wideOnly(column("OS-Image", "string", corev1.NodeSystemInfo{}, "osImage")),
		wideOnly(column("Kernel-Version", "string", corev1.NodeSystemInfo{}, "kernelVersion")),
		wideOnly(column("Container-Runtime", "string", corev1.NodeSystemInfo{}, "containerRuntimeVersion")),
	}, nodeCells)
}

func nodeCells(node *corev1.Node, now time.Time) []any {
	info := &node.Status.NodeInfo
	kernel := orUnknown(info.KernelVersion)
	if info.Architecture != "" {
		kernel += " (" + info.Architecture + ")"
	}
	return []any{
		node.Name, nodeStatus(node), orNone(strings.Join(nodeRoles(node), ",")), age(node.CreationTimestamp, now),
		info.KubeletVersion,
		nodeAddress(node, corev1.NodeInternalIP), nodeAddress(node, corev1.NodeExternalIP),
		orUnknown(info.OSImage), kernel, orUnknown(info.ContainerRuntimeVersion),
	}
}

func nodeStatus(node *corev1.Node) string {
	status := "Unknown"
	for i := range node.Status.Conditions {
		c := &node.Status.Conditions[i]
		if c.Type != corev1.NodeReady {
			continue
		}
		status = "NotReady"
		if c.Status == corev1.ConditionTrue {
			status = "Ready"
		}
	}
	if node.Spec.Unschedulable {
		status += ",SchedulingDisabled"
	}
	return status
}

func nodeRoles(node *corev1.Node) []string {
	var roles []string
	for label, value := range node.Labels {
		if role, ok := strings.CutPrefix(label, rolePrefix); ok && role != "" {
			roles = append(roles, role)
		} else if label == roleLabel && value != "" {
			roles = append(roles, value)
		}
	}
	slices.Sort(roles)
	return slices.Compact(roles)
}

func nodeAddress(node *corev1.Node, kind corev1.NodeAddressType) string {
	for _, address := range node.Status.Addresses {
		if address.Type == kind {
			return address.Address
		}
	}
	return "<none>"
}

func orUnknown(text string) string {
	if text == "" {
		return "<unknown>"
	}
	return text
}
