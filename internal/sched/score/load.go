package score

import "github.com/allot-dev/allot/internal/model"

// scoreLoad prefers the fullest node if pods are put together, to leave room elsewhere, and the
// emptiest one otherwise.
func scoreLoad(in *Input, info *model.NodeInfo) float64 {
	if in.Packs {
		return -info.Load
	}
	return info.Load
}
