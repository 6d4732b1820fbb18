package nodefit

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/allot-dev/allot/internal/model"
)

// Fitter checks nodes for the pods of one shape. What it has counted in the State is remembered
// until that changes.
type Fitter struct {
	Requests
	Shape *model.Shape

	affinity *nodeaffinity.RequiredNodeAffinity // nil: any node fits
	spread   SpreadCounts

	pulls        []model.Pull // pulls of bound pods
	pullsKnown   bool
	pullsVersion uint64
}

// New returns a Fitter for the shape.
func New(state *model.State, shape *model.Shape) *Fitter {
	f := &Fitter{Shape: shape, Requests: newRequests(state, shape), spread: NewSpreadCounts(shape.Terms.Spread)}
	if len(shape.NodeSelector) > 0 || shape.Affinity != nil && shape.Affinity.NodeAffinity != nil {
		affinity := nodeaffinity.NewRequiredNodeAffinity(shape.NodeSelector, shape.Affinity)
		f.affinity = &affinity
	}
	return f
}

// WithoutCounts returns a Fitter for Static checks and resources, which keeps nothing that was
// counted.
func (f *Fitter) WithoutCounts() *Fitter {
	return &Fitter{Requests: f.Requests, Shape: f.Shape, affinity: f.affinity}
}

// Static makes the checks that do not depend on the pods on the node.
func (f *Fitter) Static(info *model.NodeInfo) Failure {
	unschedulable := corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}
	if info.Node.Unschedulable && !tolerated(f.Shape.Tolerations, &unschedulable) {
		return Failure{Check: CheckUnschedulable}
	}
	for i := range info.Node.Taints {
		taint := &info.Node.Taints[i]
		if taint.Effect != corev1.TaintEffectPreferNoSchedule && !tolerated(f.Shape.Tolerations, taint) {
			return Failure{Check: CheckTaint, Detail: fmt.Sprintf("{%s: %s}", taint.Key, taint.Value)}
		}
	}
	if !f.selects(info) {
		return Failure{Check: CheckNodeAffinity}
	}
	return Failure{}
}

// selects reports whether the pod's node selector and required node affinity allow the node.
func (f *Fitter) selects(info *model.NodeInfo) bool {
	if f.affinity == nil {
		return true
	}
	matches, err := f.affinity.Match(info.API())
	return err == nil && matches
}

// Suitable returns the nodes that pass the Static checks. It returns the list itself if all do.
func (f *Fitter) Suitable(nodes []*model.NodeInfo) []*model.NodeInfo {
	first := slices.IndexFunc(nodes, func(info *model.NodeInfo) bool { return f.Static(info).Failed() })
	if first < 0 {
		return nodes
	}
	some := slices.Clone(nodes[:first])
	for _, info := range nodes[first+1:] {
		if !f.Static(info).Failed() {
			some = append(some, info)
		}
	}
	return some
}

// SoftTaints returns the number of taints with the effect PreferNoSchedule that the pod does not
// tolerate.
func (f *Fitter) SoftTaints(info *model.NodeInfo) int64 {
	n := int64(0)
	for i := range info.Node.Taints {
		taint := &info.Node.Taints[i]
		if taint.Effect == corev1.TaintEffectPreferNoSchedule && !tolerated(f.Shape.Tolerations, taint) {
			n++
		}
	}
	return n
}

func tolerated(tolerations []corev1.Toleration, taint *corev1.Taint) bool {
	return slices.ContainsFunc(tolerations, func(t corev1.Toleration) bool {
		if (t.Effect != "" && t.Effect != taint.Effect) || (t.Key != "" && t.Key != taint.Key) {
			return false
		}
		return t.Operator == corev1.TolerationOpExists ||
			((t.Operator == "" || t.Operator == corev1.TolerationOpEqual) && t.Key != "" && t.Value == taint.Value)
	})
}

// Dynamic makes the checks that depend on the pods on the nodes.
func (f *Fitter) Dynamic(state *model.State, info *model.NodeInfo) Failure {
	if failure := f.check(info); failure.Failed() {
		return failure
	}
	for _, wanted := range f.Shape.HostPorts {
		for taken := range info.Ports {
			if wanted.Clashes(taken) {
				return Failure{Check: CheckHostPort}
			}
		}
	}
	if !state.Terms.Any() {
		return Failure{}
	}
	if failure := f.podAffinity(state, info); failure.Failed() {
		return failure
	}
	return f.checkSpread(state, info)
}

// TiedNode returns the one node that a selector allows, as an allocation of node-local devices has
// it.
func TiedNode(selector *corev1.NodeSelector) (string, bool) {
	if selector == nil || len(selector.NodeSelectorTerms) != 1 {
		return "", false
	}
	term := &selector.NodeSelectorTerms[0]
	if len(term.MatchExpressions) > 0 || len(term.MatchFields) != 1 {
		return "", false
	}
	field := &term.MatchFields[0]
	if field.Operator != corev1.NodeSelectorOpIn || len(field.Values) != 1 {
		return "", false
	}
	return field.Values[0], true
}

// AllMatch reports whether all selectors match the node.
func AllMatch(selectors []*nodeaffinity.LazyErrorNodeSelector, info *model.NodeInfo) bool {
	for _, selector := range selectors {
		if matches, err := selector.Match(info.API()); err != nil || !matches {
			return false
		}
	}
	return true
}
