package nodelifecycle

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// pressure is a condition that taints a node while it is true, with the key of the taint.
type pressure struct {
	condition corev1.NodeConditionType
	key       string
}

var pressures = []pressure{
	{corev1.NodeMemoryPressure, corev1.TaintNodeMemoryPressure},
	{corev1.NodeDiskPressure, corev1.TaintNodeDiskPressure},
	{corev1.NodePIDPressure, corev1.TaintNodePIDPressure},
	{corev1.NodeNetworkUnavailable, corev1.TaintNodeNetworkUnavailable},
}

// eviction is the change to make to the NoExecute taints of a node.
type eviction int

const (
	// keepTaint adds none. An existing one follows the condition Ready.
	keepTaint eviction = iota
	// addTaint adds the one for the condition Ready.
	addTaint
	// removeTaint removes them.
	removeTaint
)

// desiredTaints returns the taints that a node should have, and whether they differ from its
// current ones.
func desiredTaints(node *corev1.Node, evicting eviction) (taints []corev1.Taint, changed bool) {
	want := conditionTaints(node, evicting)
	if len(want) == 0 && len(node.Spec.Taints) == 0 {
		return nil, false // almost always
	}
	ready := readiness(node)
	for _, have := range node.Spec.Taints {
		i := slices.IndexFunc(want, func(t corev1.Taint) bool { return t.MatchTaint(&have) })
		switch {
		case i >= 0:
			want = slices.Delete(want, i, i+1)
			fallthrough
		case !managed(&have), ready == "" && aboutReady(have.Key):
			taints = append(taints, have)
		default:
			changed = true
		}
	}
	return append(taints, want...), changed || len(want) > 0
}

// conditionTaints returns the taints for the condition of a node.
func conditionTaints(node *corev1.Node, evicting eviction) []corev1.Taint {
	var out []corev1.Taint
	for _, p := range pressures {
		if c := condition(node, p.condition); c != nil && c.Status == corev1.ConditionTrue {
			out = append(out, corev1.Taint{Key: p.key, Effect: corev1.TaintEffectNoSchedule})
		}
	}
	if node.Spec.Unschedulable {
		out = append(out, corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule})
	}
	var key string
	switch readiness(node) {
	case corev1.ConditionFalse:
		key = corev1.TaintNodeNotReady
	case corev1.ConditionUnknown:
		key = corev1.TaintNodeUnreachable
	default:
		return out
	}
	out = append(out, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
	if evicting == addTaint || evicting == keepTaint && hasEvictingTaint(node) {
		out = append(out, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoExecute})
	}
	return out
}

// hasEvictingTaint reports whether a node has a NoExecute taint of this controller.
func hasEvictingTaint(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints,
		func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectNoExecute && aboutReady(t.Key) })
}

func aboutReady(key string) bool {
	return key == corev1.TaintNodeNotReady || key == corev1.TaintNodeUnreachable
}

// managed reports whether only this controller adds and removes the taint.
func managed(t *corev1.Taint) bool {
	switch t.Effect {
	case corev1.TaintEffectNoExecute:
		return aboutReady(t.Key)
	case corev1.TaintEffectNoSchedule:
		return aboutReady(t.Key) || t.Key == corev1.TaintNodeUnschedulable ||
			slices.ContainsFunc(pressures, func(p pressure) bool { return p.key == t.Key })
	}
	return false
}
