package alloc

import (
	"slices"

	resourcev1 "k8s.io/api/resource/v1"

	"github.com/allot-dev/allot/internal/model"
)

// groupNeed says with whom a device may take from a counter set: all that do so at a time have a group in common.
type groupNeed struct {
	set    string
	groups []string
}

// noGroup stands for the groups of a device that names none: it goes with its like alone.
var noGroup = []string{""}

// groupNeeds reads the compatibility groups of a device, in a pool where they matter.
func groupNeeds(device *model.Device) []groupNeed {
	var needs []groupNeed
	for i := range device.ConsumesCounters {
		consumed := &device.ConsumesCounters[i]
		need := groupNeed{set: consumed.CounterSet, groups: noGroup}
		if len(consumed.CompatibilityGroups) > 0 {
			need.groups = slices.Sorted(slices.Values(consumed.CompatibilityGroups))
		}
		needs = append(needs, need)
	}
	return needs
}

// hasGroups says whether compatibility groups matter in a pool.
func hasGroups(pool *model.Pool) bool {
	return slices.ContainsFunc(pool.Devices, func(device model.Device) bool {
		return slices.ContainsFunc(device.ConsumesCounters, func(c resourcev1.DeviceCounterConsumption) bool { return len(c.CompatibilityGroups) > 0 })
	})
}

// common is what those in use have in common with one more; by counter set.
type common map[string][]string

func (c common) add(needs []groupNeed) {
	for _, need := range needs {
		if groups, others := c[need.set]; others {
			c[need.set] = intersect(groups, need.groups)
		} else {
			c[need.set] = need.groups
		}
	}
}

// admits says whether one more goes with those that were added.
func (c common) admits(needs []groupNeed) bool {
	for _, need := range needs {
		if groups, others := c[need.set]; others && len(intersect(groups, need.groups)) == 0 {
			return false
		}
	}
	return true
}

func intersect(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(group string) bool { return !slices.Contains(b, group) })
}

// compatible says whether a device of the cell may take from counters beside those that are in use and those that are
// picked.
func (s *search) compatible(at int, cell *cell) bool {
	if len(cell.need.groups) == 0 {
		return true
	}
	mine := common{}
	mine.add(cell.need.groups)
	for before := range at {
		other := &s.board.cells[s.picks[before].cell]
		if other.view != cell.view {
			continue
		}
		if !mine.admits(other.need.groups) {
			return false
		}
		for _, need := range other.need.groups {
			if groups, taken := mine[need.set]; taken {
				mine[need.set] = intersect(groups, need.groups)
			}
		}
	}
	return s.board.counted[cell.view].inUse.goesWith(mine)
}

// goesWith says whether those in use have something in common with others, where both take from a counter set.
func (c common) goesWith(others common) bool {
	for set, groups := range others {
		if mine, ok := c[set]; ok && len(intersect(mine, groups)) == 0 {
			return false
		}
	}
	return true
}
