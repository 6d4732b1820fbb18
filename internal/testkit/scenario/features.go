package scenario

import (
	"cmp"
	"maps"
	"slices"

	resourcev1 "k8s.io/api/resource/v1"

	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/claims"
	"github.com/allot-dev/allot/internal/features"
	"github.com/allot-dev/allot/internal/testkit/line"
)

// features handles the command features [off=GATE,…]: claims and slices are converted again by a
// scheduler for which these features are off.
func (s *Scenario) features(l *line.Line) (string, error) {
	s.on = features.Set{}
	for _, name := range l.List("off") {
		if err := s.on.Set(name + "=false"); err != nil {
			return "", err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.slices)) {
		s.putSlice(s.slices[name])
	}
	byName := func(a, b *resource.ResourceClaim) int { return cmp.Compare(a.Name, b.Name) }
	for _, claim := range slices.SortedFunc(maps.Values(s.claims), byName) {
		s.putClaim(claim)
	}
	return "", nil
}

func (s *Scenario) putSlice(slice *resourcev1.ResourceSlice) {
	s.slices[slice.Name] = slice
	s.queue.Wake(s.state.Devices.PutSlice(claims.PlacedSlice(s.on, slice)))
}
