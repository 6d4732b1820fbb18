package forecast

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// poolLabels are the labels by which providers tell node pools apart.
var poolLabels = []string{
	"cloud.google.com/gke-nodepool", "eks.amazonaws.com/nodegroup", "kubernetes.azure.com/agentpool", "agentpool",
	"karpenter.sh/nodepool", "node.kubernetes.io/pool", "pool",
}

// addNodes adds nodes like an existing one, with the devices that only that node has.
func (s *simulation) addNodes(add NodesLike) error {
	model, err := s.nodeLike(add.Like)
	if err != nil {
		return fmt.Errorf("add nodes: %w", err)
	}
	for range add.Count {
		s.addNode(model)
	}
	return nil
}

// nodeLike returns the node that a person means by the name of a node, of a pool of its devices, or
// the value of a label for node pools. Of several nodes it is the first that pods can use.
func (s *simulation) nodeLike(name string) (*corev1.Node, error) {
	if node, ok := s.world.Nodes.Get("", name); ok {
		return node, nil
	}
	var found []*corev1.Node
	for _, slice := range s.world.Slices.List() {
		if slice.Spec.Pool.Name != name {
			continue
		}
		if node, ok := s.world.Nodes.Get("", ptr.Deref(slice.Spec.NodeName, "")); ok {
			found = append(found, node)
		}
	}
	for _, node := range s.world.Nodes.List() {
		if slices.ContainsFunc(poolLabels, func(key string) bool { return node.Labels[key] == name }) {
			found = append(found, node)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf(
			"no node is like %q: it is neither a node, nor a pool of devices of a node, nor the value of a label such as %s",
			name, poolLabels[0],
		)
	}
	if usable := slices.IndexFunc(found, func(n *corev1.Node) bool {
		return !n.Spec.Unschedulable &&
			len(temporary(n)) == 0
	}); usable >= 0 {
		return found[usable], nil
	}
	return found[0], nil
}

// temporary returns the taints of a node that describe its present state.
func temporary(node *corev1.Node) []corev1.Taint {
	return slices.DeleteFunc(slices.Clone(node.Spec.Taints),
		func(t corev1.Taint) bool { return !strings.HasPrefix(t.Key, "node.kubernetes.io/") })
}

// addNode adds one node.
func (s *simulation) addNode(like *corev1.Node) {
	node := like.DeepCopy()
	node.Name, node.GenerateName = "", like.Name+"-planned-"
	node.Name = s.generateName(node)
	node.Spec.Unschedulable, node.Spec.ProviderID = false, ""
	node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints,
		func(t corev1.Taint) bool { return strings.HasPrefix(t.Key, "node.kubernetes.io/") })
	if node.Labels[corev1.LabelHostname] != "" {
		node.Labels[corev1.LabelHostname] = node.Name
	}
	s.stamp(node)
	s.record(Create, node)
	s.put(node)
	for _, slice := range s.world.Slices.List() {
		if ptr.Deref(slice.Spec.NodeName, "") == like.Name {
			s.addSlice(slice, like.Name, node)
		}
	}
	if limits, ok := s.world.CSINodes.Get("", like.Name); ok {
		s.addLimits(limits, node.Name)
	}
}

// addSlice publishes the devices of a slice on another node.
func (s *simulation) addSlice(like *resourcev1.ResourceSlice, likeNode string, node *corev1.Node) {
	slice := like.DeepCopy()
	slice.Name, slice.GenerateName = "", node.Name+"-"
	slice.Name = s.generateName(slice)
	slice.Spec.NodeName = &node.Name
	pool := strings.ReplaceAll(like.Spec.Pool.Name, likeNode, node.Name)
	if pool == like.Spec.Pool.Name {
		pool += "-" + node.Name
	}
	slice.Spec.Pool.Name = pool
	slice.OwnerReferences = []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID, Controller: ptr.To(true)},
	}
	s.stamp(slice)
	s.world.Slices.Put(slice)
}

func (s *simulation) addLimits(like *storagev1.CSINode, name string) {
	limits := like.DeepCopy()
	limits.Name = name
	s.stamp(limits)
	s.world.CSINodes.Put(limits)
}

// stamp gives a copy of an object an identity of its own.
func (s *simulation) stamp(object metav1.Object) {
	s.created++
	object.SetUID(uidOf(s.created))
	object.SetResourceVersion("")
	object.SetCreationTimestamp(metav1.NewTime(s.now))
	object.SetManagedFields(nil)
}
