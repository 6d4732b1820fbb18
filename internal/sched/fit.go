package sched

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/allot-dev/allot/internal/model"
)

// Check is a test that a node has to pass for a pod.
type Check string

// The checks in the order in which they are made; a node is counted at the first that it fails.
const (
	CheckUnschedulable Check = "unschedulable"
	CheckTaint         Check = "taint"
	CheckNodeAffinity  Check = "node affinity"
	CheckClaimNode     Check = "claim node"
	CheckResource      Check = "resource"
	CheckHostPort      Check = "host port"
	CheckPodAffinity   Check = "pod affinity"
	CheckPodAnti       Check = "pod anti-affinity"
	CheckForbidden     Check = "anti-affinity of others"
	CheckSpread        Check = "topology spread"
	CheckDevices       Check = "devices"
	CheckTogether      Check = "together" // passes all checks for the pod, but not with the unit's other pods in place
)

// miss says at which check a node fails, and by what. The zero value is no miss.
type miss struct {
	check   Check
	detail  string // what is counted together: the resource, the taint, the claim
	lacking int64  // how much of a resource is missing
}

// fitter tests nodes for one shape of pods.
type fitter struct {
	shape     *model.Shape
	affinity  nodeaffinity.RequiredNodeAffinity
	preferred *nodeaffinity.PreferredSchedulingTerms // nil: no preference
	spreads   []spread
}

func newFitter(shape *model.Shape) *fitter {
	f := &fitter{
		shape: shape, affinity: nodeaffinity.NewRequiredNodeAffinity(shape.NodeSelector, shape.Affinity),
		spreads: make([]spread, len(shape.Terms.Spread)),
	}
	if shape.Affinity == nil || shape.Affinity.NodeAffinity == nil {
		return f
	}
	if terms := shape.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution; len(terms) > 0 {
		// A preference that cannot be parsed is none.
		f.preferred, _ = nodeaffinity.NewPreferredSchedulingTerms(terms)
	}
	return f
}

// A taint that asks to stay away weighs as much as the strongest preference.
const preferNoScheduleWeight = 100

// preference is how much the pod's author wants the node: by weights of preferred node affinity, less what taints
// ask to stay away.
func (f *fitter) preference(info *model.NodeInfo) int64 {
	var weight int64
	if f.preferred != nil {
		weight = f.preferred.Score(info.API)
	}
	for i := range info.Node.Taints {
		taint := &info.Node.Taints[i]
		if taint.Effect == corev1.TaintEffectPreferNoSchedule && !tolerated(f.shape.Tolerations, taint) {
			weight -= preferNoScheduleWeight
		}
	}
	return weight
}

// static tests what does not depend on the pods on the node.
func (f *fitter) static(info *model.NodeInfo) miss {
	if info.Node.Unschedulable && !tolerated(f.shape.Tolerations, &corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}) {
		return miss{check: CheckUnschedulable}
	}
	for i := range info.Node.Taints {
		taint := &info.Node.Taints[i]
		if taint.Effect != corev1.TaintEffectPreferNoSchedule && !tolerated(f.shape.Tolerations, taint) {
			return miss{check: CheckTaint, detail: fmt.Sprintf("{%s: %s}", taint.Key, taint.Value)}
		}
	}
	if matches, err := f.affinity.Match(info.API); err != nil || !matches {
		return miss{check: CheckNodeAffinity}
	}
	return miss{}
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

// dynamic tests what changes with the pods on the nodes.
func (f *fitter) dynamic(state *model.State, info *model.NodeInfo) miss {
	if m := f.resources(info); m.check != "" {
		return m
	}
	for _, wanted := range f.shape.HostPorts {
		for taken := range info.Ports {
			if wanted.Clashes(taken) {
				return miss{check: CheckHostPort}
			}
		}
	}
	if !state.HasTerms() {
		return miss{}
	}
	if m := f.podAffinity(state, info); m.check != "" {
		return m
	}
	return f.spread(state, info)
}

// resources finds the first resource by name that the node has too little of.
func (f *fitter) resources(info *model.NodeInfo) miss {
	var worst miss
	for name, wanted := range f.shape.Requests {
		if free := info.Free[name]; free < wanted && (worst.check == "" || string(name) < worst.detail) {
			worst = miss{check: CheckResource, detail: string(name), lacking: wanted - free}
		}
	}
	return worst
}

func (f *fitter) podAffinity(state *model.State, info *model.NodeInfo) miss {
	terms := &f.shape.Terms
	for _, term := range terms.AntiAffinity {
		if value, ok := info.API.Labels[term.TopologyKey]; ok {
			if here, _ := state.Picked(term, value); here > 0 {
				return miss{check: CheckPodAnti}
			}
		}
	}
	if state.Forbidding(f.shape, info) {
		return miss{check: CheckForbidden}
	}
	met, first := true, true
	for _, term := range terms.Affinity {
		value, ok := info.API.Labels[term.TopologyKey]
		if !ok {
			return miss{check: CheckPodAffinity}
		}
		here, everywhere := state.Picked(term, value)
		met, first = met && here > 0, first && everywhere == 0
	}
	if met {
		return miss{}
	}
	// The first of pods that want to be with each other has nobody to be with.
	if first && terms.Affinity[0].Matches(f.shape, state.NamespaceLabels(f.shape.Namespace)) {
		return miss{}
	}
	return miss{check: CheckPodAffinity}
}

// tie is the one node that a selector allows, as an allocation of node-local devices has it.
func tie(selector *corev1.NodeSelector) (string, bool) {
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
