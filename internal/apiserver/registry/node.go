package registry

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/allot-dev/allot/internal/apiserver/validation"
)

// nodes may be created with their status, as a kubelet registers itself.
func nodes() entry {
	return &kind[corev1.Node, *corev1.Node]{
		names:          names{versions: v1, plural: "nodes", singular: "node", short: []string{"no"}, cluster: true},
		newList:        func() runtime.Object { return &corev1.NodeList{} },
		spec:           func(n *corev1.Node) any { return &n.Spec },
		status:         func(n *corev1.Node) any { return &n.Status },
		statusAtCreate: true,
		fields: func(n *corev1.Node) fields.Set {
			return fields.Set{"spec.unschedulable": strconv.FormatBool(n.Spec.Unschedulable)}
		},
		validate:       validation.ValidateNode,
		validateUpdate: validation.ValidateNodeUpdate,
		validateStatus: validation.ValidateNodeStatusUpdate,
	}
}
