package sched

import (
	"math"

	"github.com/allot-dev/allot/internal/model"
)

// company is how many pods of the same set, or the same Services, there are on each node. A pod alone should rather be apart from
// these, though its author says nothing about that.
func (j *job) company(c *class) map[*model.NodeInfo]int {
	pod, terms := c.members[0].pod, &c.fitter.Shape.Terms
	switch {
	case j.unit.Key.Group || len(terms.Spread)+len(terms.SoftSpread) > 0:
		return nil
	case pod.Set == "":
		return j.state.Services.ServedWith(pod.Shape)
	}
	return j.state.Pods.OfSet(pod.Set)
}

// mingle says what the company on each node and in its zone counts for, and forgets that of the pod before. Pods of a kind of
// domain of which there are few count for less, as in upstream's scoring.
func (r *ranking) mingle(onNode map[*model.NodeInfo]int, zones int) {
	for _, n := range r.crowded {
		r.list[n].crowd = 0
	}
	r.dirty, r.crowded = append(r.dirty, r.crowded...), r.crowded[:0]
	if len(onNode) == 0 || r.in < 2 {
		return
	}
	if inZone := r.crowdOfZones(onNode, zones); inZone != nil {
		for i := range r.list {
			r.list[i].crowd = inZone[r.list[i].zone]
			r.crowded = append(r.crowded, int32(i))
		}
	}
	perHost := math.Log(float64(r.in + 2))
	for info, n := range onNode {
		if at, ok := r.find(info); ok {
			r.list[at].crowd += perHost * float64(n)
			r.crowded = append(r.crowded, int32(at))
		}
	}
	r.dirty = append(r.dirty, r.crowded...)
}

// crowdOfZones is what company counts for in each zone. Where there is no zone, or all are in one, that is nil.
func (r *ranking) crowdOfZones(onNode map[*model.NodeInfo]int, zones int) []float64 {
	if zones < 3 {
		return nil
	}
	seen, n := make([]bool, zones), 0
	for i := range r.list {
		if zone := r.list[i].zone; zone != 0 && !r.list[i].out && !seen[zone] {
			seen[zone] = true
			n++
		}
	}
	crowd := make([]float64, zones)
	for info, pods := range onNode {
		if info.Zone != 0 {
			crowd[info.Zone] += float64(pods)
		}
	}
	for zone := range crowd {
		crowd[zone] *= math.Log(float64(n + 2))
	}
	return crowd
}
