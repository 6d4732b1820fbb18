package sched

import (
	"cmp"
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
	CheckDomain        Check = "domain" // outside the one domain that the unit has to be in
	CheckVolume        Check = "volume"
	CheckClaimNode     Check = "claim node"
	CheckResource      Check = "resource"
	CheckHostPort      Check = "host port"
	CheckVolumeLimit   Check = "volume limit"
	CheckPodAffinity   Check = "pod affinity"
	CheckPodAnti       Check = "pod anti-affinity"
	CheckForbidden     Check = "anti-affinity of others"
	CheckSpread        Check = "topology spread"
	CheckDevices       Check = "devices"
	CheckMapped        Check = "mapped claim" // stands for resources of the node, and another pod has it
	CheckDrawBudget    Check = "draw budget"  // devices draw more than the pod's own request (spec.resources) leaves for them
	CheckTogether      Check = "together"     // passes all checks for the pod, but not with the unit's other pods in place
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
	requests  []request                              // by name
	common    [len(model.CommonResources)]int64      // of requests
	others    int                                    // how many requests are not common
	affinity  *nodeaffinity.RequiredNodeAffinity     // nil: any node will do
	preferred *nodeaffinity.PreferredSchedulingTerms // nil: no preference
	spreads   []spread                               // of the constraints that must hold
	soft      []spread                               // of those that are wishes

	pulls        []model.Pull // of bound pods
	pullsKnown   bool
	pullsVersion uint64
}

// request is how much of a resource a pod asks for.
type request struct {
	name    corev1.ResourceName
	amount  int64
	offered bool // by a DeviceClass: nodes that have none of it give devices instead
}

// instead says whether devices stand in the place of the resource on the node.
func (r *request) instead(info *model.NodeInfo) bool {
	return r.offered && info.Node.Allocatable[r.name] <= 0
}

func newFitter(state *model.State, shape *model.Shape) *fitter {
	f := &fitter{
		shape:    shape,
		requests: make([]request, 0, len(shape.Requests)),
		spreads:  make([]spread, len(shape.Terms.Spread)),
		soft:     make([]spread, len(shape.Terms.SoftSpread)),
	}
	f.others = len(shape.Requests)
	for name, amount := range shape.Requests {
		offered := false
		if len(shape.Asks) > 0 && model.IsOfferable(name) {
			_, offered = state.Offers(name)
		}
		f.requests = append(f.requests, request{name, amount, offered})
		if at := slices.Index(model.CommonResources[:], name); at >= 0 {
			f.common[at] = amount
			f.others--
		}
	}
	slices.SortFunc(f.requests, func(a, b request) int { return cmp.Compare(a.name, b.name) })
	if len(shape.NodeSelector) > 0 || shape.Affinity != nil && shape.Affinity.NodeAffinity != nil {
		affinity := nodeaffinity.NewRequiredNodeAffinity(shape.NodeSelector, shape.Affinity)
		f.affinity = &affinity
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
	if !f.selects(info) {
		return miss{check: CheckNodeAffinity}
	}
	return miss{}
}

// selects says whether the pod's node selector and required node affinity allow the node.
func (f *fitter) selects(info *model.NodeInfo) bool {
	if f.affinity == nil {
		return true
	}
	matches, err := f.affinity.Match(info.API())
	return err == nil && matches
}

// suitable are those of the nodes that pass the static tests.
func (f *fitter) suitable(nodes []*model.NodeInfo) []*model.NodeInfo {
	first := slices.IndexFunc(nodes, func(info *model.NodeInfo) bool { return f.static(info).check != "" })
	if first < 0 {
		return nodes
	}
	some := slices.Clone(nodes[:first])
	for _, info := range nodes[first+1:] {
		if f.static(info).check == "" {
			some = append(some, info)
		}
	}
	return some
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
	if f.others == 0 && f.hasCommon(info) {
		return miss{}
	}
	for i := range f.requests {
		wanted := &f.requests[i]
		if free := info.Free[wanted.name]; free < wanted.amount && !wanted.instead(info) {
			return miss{check: CheckResource, detail: string(wanted.name), lacking: model.SubAmounts(wanted.amount, free)}
		}
	}
	return miss{}
}

func (f *fitter) hasCommon(info *model.NodeInfo) bool {
	for i, wanted := range f.common {
		if info.Spare[i] < wanted {
			return false
		}
	}
	return true
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
