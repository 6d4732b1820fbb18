package sched

import (
	"slices"

	"github.com/allot-dev/allot/internal/model"
)

// pulling are the pulls of bound pods on the shape, looked up anew when others come or go.
func (f *fitter) pulling(state *model.State) []model.Pull {
	if !f.pullsKnown || f.pullsVersion != state.PullsVersion() {
		f.pulls, f.pullsVersion, f.pullsKnown = state.Pulls(f.shape), state.PullsVersion(), true
	}
	return f.pulls
}

// podAffinity tests required pod affinity and anti-affinity, of the pod and of those that are there.
func (f *fitter) podAffinity(state *model.State, info *model.NodeInfo) miss {
	terms := &f.shape.Terms
	for _, term := range terms.AntiAffinity {
		if value, ok := info.Node.Labels[term.TopologyKey]; ok {
			if here, _ := state.Picked(term, value); here > 0 {
				return miss{check: CheckPodAnti}
			}
		}
	}
	for _, pull := range f.pulling(state) {
		if pull.Forbids() && pull.At(info) > 0 {
			return miss{check: CheckForbidden}
		}
	}
	met, first := true, true
	for _, term := range terms.Affinity {
		value, ok := info.Node.Labels[term.TopologyKey]
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
	if first && f.wantsItsOwn(state) {
		return miss{}
	}
	return miss{check: CheckPodAffinity}
}

// wantsItsOwn says whether the pod's required affinity picks pods like itself.
func (f *fitter) wantsItsOwn(state *model.State) bool {
	terms := f.shape.Terms.Affinity
	return len(terms) > 0 && terms[0].Matches(f.shape, state.NamespaceLabels(f.shape.Namespace))
}

// ordered says whether it depends on the pods that are placed before it whether a pod can be placed.
func (f *fitter) ordered() bool { return len(f.shape.Terms.Affinity)+len(f.shape.Terms.Spread) > 0 }

// heeds says whether the presence of other pods, here or there, decides where the pod can be.
func (f *fitter) heeds(state *model.State) bool {
	terms := &f.shape.Terms
	return len(terms.Affinity)+len(terms.AntiAffinity)+len(terms.Spread) > 0 ||
		slices.ContainsFunc(f.pulling(state), func(pull model.Pull) bool { return pull.Forbids() })
}
