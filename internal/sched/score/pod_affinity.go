package score

import (
	"slices"

	"github.com/allot-dev/allot/internal/model"
)

// prefersPods reports whether the pod prefers to be near or apart from others, or others from it.
func prefersPods(in *Input) bool {
	if !in.State.Terms.Any() {
		return false
	}
	return len(in.Shape.Fitter.Shape.Terms.Preferred) > 0 ||
		slices.ContainsFunc(in.Shape.Pulls(in.State), func(pull model.Pull) bool { return pull.Weight() != 0 })
}

// scorePodAffinity adds up the weights of the terms of the pod and of those that run, for each pod
// that they select.
func scorePodAffinity(in *Input, list []Candidate, raw []int64) func(int64) int64 {
	pulls := in.Shape.Pulls(in.State)
	for i := range list {
		raw[i] = in.Shape.podAffinity(in.State, list[i].Node, pulls)
	}
	least, most := slices.Min(raw), slices.Max(raw)
	if least == most {
		return nil
	}
	return func(n int64) int64 { return fullScore * (n - least) / (most - least) }
}

func (s *Shape) podAffinity(state *model.State, info *model.NodeInfo, pulls []model.Pull) int64 {
	sum := 0
	preferred := s.Fitter.Shape.Terms.Preferred
	for i := range preferred {
		if value, ok := info.Node.Labels[preferred[i].Term.TopologyKey]; ok {
			here, _ := state.Terms.Picked(preferred[i].Term, value)
			sum += preferred[i].Weight * here
		}
	}
	for i := range pulls {
		if weight := pulls[i].Weight(); weight != 0 {
			sum += weight * pulls[i].At(info)
		}
	}
	return int64(sum)
}
