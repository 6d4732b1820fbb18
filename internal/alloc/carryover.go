package alloc

import (
	"reflect"

	"github.com/allot-dev/allot/internal/model"
)

// carryOver copies selector results from an earlier version of the pool for devices of unchanged
// slices, so that updating one slice costs only the evaluation of its own devices. Failed results
// are not copied.
func (m *matcher) carryOver(from, to *poolMatches) {
	if from.cachedFilters() > maxCarried {
		return
	}
	before := unchanged(from.pool, to.pool)
	if before == nil {
		return
	}
	for _, old := range from.filters {
		if old == nil || old.failed {
			continue
		}
		set := m.evaluateEach(to.pool, old.filter, func(i int) (bool, error) {
			if before[i] < 0 {
				return m.matchesAll(to.pool, i, old.filter.selectors)
			}
			return old.devices.Has(before[i]), nil
		})
		if !set.failed {
			to.cache(set)
		}
	}
}

// cachedFilters returns the number of filters with a cached result.
func (p *poolMatches) cachedFilters() int {
	n := 0
	for _, set := range p.filters {
		if set != nil {
			n++
		}
	}
	return n
}

// maxCarried limits the results that are copied. With more, most belong to Problems that no longer
// exist, and are not worth evaluating for new devices.
const maxCarried = 100

// unchanged maps each device of a pool to the index of the same device in an earlier version if
// selectors cannot distinguish the two, and to -1 otherwise. It returns nil if no device is
// unchanged.
func unchanged(from, to *model.Pool) []int {
	before, some := make([]int, len(to.Devices)), false
	for i := range to.Devices {
		before[i] = -1
		// most devices keep their index
		at, ok := i, i < len(from.Devices) && from.Devices[i].Name == to.Devices[i].Name
		if !ok {
			at, ok = from.Index(to.Devices[i].Name)
		}
		if ok && sameSlice(&from.Devices[at], &to.Devices[i]) {
			before[i], some = at, true
		}
	}
	if !some {
		return nil
	}
	return before
}

// sameSlice reports whether two devices come from the same version of a slice: then they share
// their maps, and selectors cannot distinguish them.
func sameSlice(a, b *model.Device) bool {
	same := func(x, y any) bool { return reflect.ValueOf(x).Pointer() == reflect.ValueOf(y).Pointer() }
	return a.AllowMultipleAllocations == b.AllowMultipleAllocations && same(a.Attributes, b.Attributes) &&
		same(a.Capacity, b.Capacity)
}

func (m *matcher) matchesAll(pool *model.Pool, device int, selectors []string) (bool, error) {
	for _, expression := range selectors {
		if ok, err := m.matches(m.program(expression), pool, device); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}
