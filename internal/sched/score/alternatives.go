package score

import "slices"

// mayHaveAlternatives reports whether device requests may have alternatives. If devices are only
// counted, they have none.
func mayHaveAlternatives(in *Input) bool { return in.Devices && in.CountKey == "" }

// scoreAlternatives prefers nodes where device requests get earlier alternatives.
func scoreAlternatives(_ *Input, list []Candidate, raw []int64) func(int64) int64 {
	for i := range list {
		raw[i] = list[i].Alternatives
	}
	most := slices.Max(raw)
	if most == 0 {
		return nil
	}
	return func(n int64) int64 { return fullScore * n / most }
}
