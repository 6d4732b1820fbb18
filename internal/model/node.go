package model

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Node is what placement needs to know of a node. Whether it is ready shows in its taints.
type Node struct {
	Name          string
	UID           types.UID
	Version       uint64
	Labels        map[string]string
	Taints        []corev1.Taint
	Unschedulable bool
	Allocatable   Resources
	Images        []corev1.ContainerImage
	// SkipsOperations: it declares the feature DRAOptionalNodeOperations, so that it can use devices that ask for that.
	SkipsOperations bool
}

// OptionalNodeOperations is the feature that a node declares if it heeds skipNodeOperations of devices.
const OptionalNodeOperations = "DRAOptionalNodeOperations"

func (n *Node) allocatable() Resources {
	if n == nil {
		return nil
	}
	return n.Allocatable
}
