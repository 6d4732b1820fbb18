package alloc

import (
	"slices"

	resourcev1 "k8s.io/api/resource/v1"

	"github.com/allot-dev/allot/internal/model"
)

// groupUsage lists the compatibility groups with which a device takes from a counter set. All
// devices that take from the set at the same time must have a group in common.
type groupUsage struct {
	set    string
	groups []string
}

// noGroup is used for a device without groups. It is only compatible with other devices without
// groups.
var noGroup = []string{""}

// groupUsagesOf returns the compatibility groups of a device, by counter set.
func groupUsagesOf(device *model.Device) []groupUsage {
	var usages []groupUsage
	for i := range device.ConsumesCounters {
		consumed := &device.ConsumesCounters[i]
		usage := groupUsage{set: consumed.CounterSet, groups: noGroup}
		if len(consumed.CompatibilityGroups) > 0 {
			usage.groups = slices.Sorted(slices.Values(consumed.CompatibilityGroups))
		}
		usages = append(usages, usage)
	}
	return usages
}

// hasGroups reports whether a device of the pool has compatibility groups.
func hasGroups(pool *model.Pool) bool {
	return slices.ContainsFunc(pool.Devices, func(device model.Device) bool {
		return slices.ContainsFunc(device.ConsumesCounters,
			func(c resourcev1.DeviceCounterConsumption) bool { return len(c.CompatibilityGroups) > 0 })
	})
}

// commonGroups maps each counter set in use to the groups that all its devices have in common.
type commonGroups map[string][]string

func (c commonGroups) add(usages []groupUsage) {
	for _, usage := range usages {
		if groups, others := c[usage.set]; others {
			c[usage.set] = intersect(groups, usage.groups)
		} else {
			c[usage.set] = usage.groups
		}
	}
}

// admits reports whether a device with these groups is compatible with all devices added so far.
func (c commonGroups) admits(usages []groupUsage) bool {
	for _, usage := range usages {
		if groups, others := c[usage.set]; others && len(intersect(groups, usage.groups)) == 0 {
			return false
		}
	}
	return true
}

func intersect(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(group string) bool { return !slices.Contains(b, group) })
}

// compatible reports whether a device of the cell is compatible with the devices in use and with
// those assigned to slots before at.
func (s *search) compatible(at int, cell *cell) bool {
	if len(cell.usage.groups) == 0 {
		return true
	}
	common := commonGroups{}
	common.add(cell.usage.groups)
	for before := range at {
		other := &s.offer.cells[s.assignments[before].cell]
		if other.view != cell.view {
			continue
		}
		if !common.admits(other.usage.groups) {
			return false
		}
		for _, usage := range other.usage.groups {
			if groups, used := common[usage.set]; used {
				common[usage.set] = intersect(groups, usage.groups)
			}
		}
	}
	return s.offer.counters[cell.view].groupsInUse.compatibleWith(common)
}

// compatibleWith reports whether the two have a group in common for each counter set that both use.
func (c commonGroups) compatibleWith(others commonGroups) bool {
	for set, groups := range others {
		if own, ok := c[set]; ok && len(intersect(own, groups)) == 0 {
			return false
		}
	}
	return true
}
