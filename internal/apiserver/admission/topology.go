package admission

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/admission"

	core "github.com/allot-dev/allot/api/core/v1"
)

// topologyLabels are the labels of a node that its pods get, as in Kubernetes since 1.35, so that
// containers can learn them through the downward API.
var topologyLabels = []string{corev1.LabelTopologyZone, corev1.LabelTopologyRegion}

// bindingTopology adds the topology labels of the node to a Binding, whose labels are copied to the
// pod.
func (c *Chain) bindingTopology(ctx context.Context, binding *corev1.Binding) (err error) {
	if binding.Target.Kind == "Node" {
		binding.Labels, err = c.withTopology(ctx, binding.Labels, binding.Target.Name)
	}
	return err
}

// podTopology adds the topology labels of its node to a pod that is created with one.
func (c *Chain) podTopology(ctx context.Context, a admission.Attributes, pod *core.Pod) (err error) {
	if a.GetOperation() == admission.Create && pod.Spec.NodeName != "" {
		pod.Labels, err = c.withTopology(ctx, pod.Labels, pod.Spec.NodeName)
	}
	return err
}

// withTopology sets the topology labels of a node, if it exists and has any.
func (c *Chain) withTopology(ctx context.Context, labels map[string]string, name string) (map[string]string, error) {
	node, ok, err := c.reader.Node(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", name, err)
	}
	if !ok {
		return labels, nil
	}
	for _, key := range topologyLabels {
		value, has := node.Labels[key]
		if !has {
			continue
		}
		if labels == nil {
			labels = map[string]string{}
		}
		labels[key] = value
	}
	return labels, nil
}
