package nodefit

import (
	"slices"

	"github.com/allot-dev/allot/internal/model"
)

// Pulls returns the affinity terms of bound pods that apply to the shape.
func (f *Fitter) Pulls(state *model.State) []model.Pull {
	if !f.pullsKnown || f.pullsVersion != state.Terms.PullsVersion() {
		f.pulls, f.pullsVersion, f.pullsKnown = state.Terms.Pulls(f.Shape), state.Terms.PullsVersion(), true
	}
	return f.pulls
}

// podAffinity checks required pod affinity and anti-affinity, of the pod and of those that run.
func (f *Fitter) podAffinity(state *model.State, info *model.NodeInfo) Failure {
	terms := &f.Shape.Terms
	for _, term := range terms.AntiAffinity {
		if value, ok := info.Node.Labels[term.TopologyKey]; ok {
			if here, _ := state.Terms.Picked(term, value); here > 0 {
				return Failure{Check: CheckPodAnti}
			}
		}
	}
	for _, pull := range f.Pulls(state) {
		if pull.Forbids() && pull.At(info) > 0 {
			return Failure{Check: CheckForbidden}
		}
	}
	met, first := true, true
	for _, term := range terms.Affinity {
		value, ok := info.Node.Labels[term.TopologyKey]
		if !ok {
			return Failure{Check: CheckPodAffinity}
		}
		here, everywhere := state.Terms.Picked(term, value)
		met, first = met && here > 0, first && everywhere == 0
	}
	// The first of pods with affinity for each other has no pod to be with, and fits everywhere.
	if met || first && f.MatchesItself(state) {
		return Failure{}
	}
	return Failure{Check: CheckPodAffinity}
}

// MatchesItself reports whether the pod's required affinity selects pods like itself.
func (f *Fitter) MatchesItself(state *model.State) bool {
	terms := f.Shape.Terms.Affinity
	return len(terms) > 0 && terms[0].Matches(f.Shape, state.Namespaces.Labels(f.Shape.Namespace))
}

// DependsOnOrder reports whether it depends on the pods that are placed earlier whether a pod can
// be placed.
func (f *Fitter) DependsOnOrder() bool {
	return len(f.Shape.Terms.Affinity)+len(f.Shape.Terms.Spread) > 0
}

// DependsOnPods reports whether other pods, on the node or elsewhere, decide whether a node fits.
func (f *Fitter) DependsOnPods(state *model.State) bool {
	terms := &f.Shape.Terms
	return len(terms.Affinity)+len(terms.AntiAffinity)+len(terms.Spread) > 0 ||
		slices.ContainsFunc(f.Pulls(state), func(pull model.Pull) bool { return pull.Forbids() })
}
