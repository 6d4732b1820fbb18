package score

import (
	"math"

	"github.com/allot-dev/allot/internal/model"
)

// scoreSiblings sets a penalty for the pods of the same set on each node and in its zone, and
// clears those of the unit before. As in upstream's scoring, pods count for less where there are
// few nodes or zones.
func scoreSiblings(in *Input, r *Ranking) { r.setSpreadScores(in.Siblings, in.State.Nodes.Zones()) }

func (r *Ranking) setSpreadScores(onNode map[*model.NodeInfo]int, zones int) {
	for _, n := range r.penalized {
		r.list[n].siblings = 0
	}
	r.dirty, r.penalized = append(r.dirty, r.penalized...), r.penalized[:0]
	if len(onNode) == 0 || r.size < 2 {
		return
	}
	if inZone := r.zonePenalties(onNode, zones); inZone != nil {
		for i := range r.list {
			r.list[i].siblings = inZone[r.list[i].zone]
			r.penalized = append(r.penalized, int32(i))
		}
	}
	perNode := math.Log(float64(r.size + 2))
	for info, n := range onNode {
		if at, ok := r.find(info); ok {
			r.list[at].siblings += perNode * float64(n)
			r.penalized = append(r.penalized, int32(at))
		}
	}
	r.dirty = append(r.dirty, r.penalized...)
}

// zonePenalties returns the penalty for the pods in each zone, or nil if there are fewer than two
// zones.
func (r *Ranking) zonePenalties(onNode map[*model.NodeInfo]int, zones int) []float64 {
	if zones < 3 {
		return nil
	}
	seen, n := make([]bool, zones), 0
	for i := range r.list {
		if zone := r.list[i].zone; zone != 0 && !r.list[i].Excluded && !seen[zone] {
			seen[zone] = true
			n++
		}
	}
	penalties := make([]float64, zones)
	for info, pods := range onNode {
		if info.Zone != 0 {
			penalties[info.Zone] += float64(pods)
		}
	}
	for zone := range penalties {
		penalties[zone] *= math.Log(float64(n + 2))
	}
	return penalties
}
