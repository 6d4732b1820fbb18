package score

import "slices"

func prefersNodes(in *Input) bool { return in.Shape.nodeAffinity != nil }

// scoreNodeAffinity adds up the weights of the terms that match a node.
func scoreNodeAffinity(in *Input, list []Candidate, raw []int64) func(int64) int64 {
	for i := range list {
		raw[i] = in.Shape.nodeAffinity.Score(list[i].Node.API())
	}
	most := max(1, slices.Max(raw))
	return func(n int64) int64 { return fullScore * n / most }
}
