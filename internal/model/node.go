package model

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Node contains the fields of a node that placement uses. Whether the node is ready is in its
// taints.
type Node struct {
	Name          string
	UID           types.UID
	Version       uint64
	Labels        map[string]string
	Taints        []corev1.Taint
	Unschedulable bool
	Allocatable   Resources
	Images        []corev1.ContainerImage
	// SkipsOperations means that the node declares the feature DRAOptionalNodeOperations, so that
	// it can use devices that require it.
	SkipsOperations bool
}

// OptionalNodeOperations is the feature of nodes that honor skipNodeOperations of devices.
const OptionalNodeOperations = "DRAOptionalNodeOperations"

func (n *Node) allocatable() Resources {
	if n == nil {
		return nil
	}
	return n.Allocatable
}
