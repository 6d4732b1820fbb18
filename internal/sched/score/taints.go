package score

import "slices"

func hasTaints(in *Input) bool { return in.taints }

// scoreTaints prefers nodes with few taints that ask the pod to stay away.
func scoreTaints(in *Input, list []Candidate, raw []int64) func(int64) int64 {
	for i := range list {
		raw[i] = in.Shape.SoftTaints(list[i].Node)
	}
	most := slices.Max(raw)
	if most <= 0 {
		return nil
	}
	return func(n int64) int64 { return fullScore - fullScore*n/most }
}
