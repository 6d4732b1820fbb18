package registry

import (
	"context"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/allot-dev/allot/internal/apiserver/defaults"
	"github.com/allot-dev/allot/internal/apiserver/printers"
	"github.com/allot-dev/allot/internal/apiserver/rbac"
	"github.com/allot-dev/allot/internal/apiserver/validation"
)

// nodes may be created with their status, as kubelets do. They have a clock for the time at which a
// taint was added.
func nodes(now func() time.Time) entry {
	return &kind[corev1.Node, *corev1.Node]{
		names: names{
			versions: v1,
			plural:   "nodes",
			singular: "node",
			short:    []string{"no"},
			cluster:  true,
			key:      "minions",
		},
		newList:        func() runtime.Object { return &corev1.NodeList{} },
		defaults:       defaults.Node,
		printer:        printers.Node,
		class:          rbac.Cluster,
		spec:           func(n *corev1.Node) any { return &n.Spec },
		status:         func(n *corev1.Node) any { return &n.Status },
		statusAtCreate: true,
		fields: func(n *corev1.Node) fields.Set {
			return fields.Set{"spec.unschedulable": strconv.FormatBool(n.Spec.Unschedulable)}
		},
		prepareCreate: func(_ context.Context, n *corev1.Node) { stampTaints(n.Spec.Taints, nil, now) },
		prepareUpdate: func(_ context.Context, n, old *corev1.Node) { stampTaints(n.Spec.Taints, old.Spec.Taints, now) },

		validate:       validation.ValidateNode,
		validateUpdate: validation.ValidateNodeUpdate,
		validateStatus: validation.ValidateNodeStatusUpdate,
	}
}

// stampTaints sets the time at which a NoExecute taint was added, from which tolerationSeconds
// count. If a client such as kubectl does not set it, an existing taint keeps its time. Times are
// stored in seconds.
func stampTaints(taints, old []corev1.Taint, now func() time.Time) {
	for i := range taints {
		t := &taints[i]
		if t.Effect != corev1.TaintEffectNoExecute || t.TimeAdded != nil {
			continue
		}
		for j := range old {
			if old[j].MatchTaint(t) && old[j].Value == t.Value {
				t.TimeAdded = old[j].TimeAdded
			}
		}
		if t.TimeAdded == nil {
			t.TimeAdded = &metav1.Time{Time: now().Truncate(time.Second)}
		}
	}
}
