package score

import "math"

func prefersSpread(in *Input) bool {
	return len(in.Shape.Fitter.Shape.Terms.SoftSpread) > 0 && in.State.Terms.Any()
}

// scoreSpread counts the pods in each domain of the constraints that are preferences. Pods count
// for less where a constraint has few domains.
func scoreSpread(in *Input, list []Candidate, raw []int64) func(int64) int64 {
	constraints := in.Shape.Fitter.Shape.Terms.SoftSpread
	const outside = -1
	most, least := int64(0), int64(math.MaxInt64)
	for i := range list {
		if raw[i] = outside; !in.Shape.softSpread.HasKeys(list[i].Node) {
			continue
		}
		sum := 0.0
		for c := range constraints {
			counts := in.Shape.softSpread.Count(in.Shape.Fitter, in.State, c)
			here := counts.At(list[i].Node.Node.Labels[constraints[c].Term.TopologyKey])
			sum += float64(here)*math.Log(float64(counts.Domains()+2)) + float64(constraints[c].MaxSkew-1)
		}
		raw[i] = int64(math.Round(sum))
		most, least = max(most, raw[i]), min(least, raw[i])
	}
	return func(n int64) int64 {
		switch {
		case n == outside:
			return 0
		case most == 0:
			return fullScore
		}
		return fullScore * (most + least - n) / most
	}
}
