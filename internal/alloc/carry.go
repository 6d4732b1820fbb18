package alloc

import (
	"reflect"

	"github.com/allot-dev/allot/internal/model"
)

// carry takes over what selectors said of devices of an earlier version of the pool that come from slices that have not
// changed, so that a changed slice costs its own devices. What fails is left to be worked out anew.
func (m *matcher) carry(from, to *poolMatches) {
	if from.noted() > maxCarried {
		return
	}
	before := unchanged(from.pool, to.pool)
	if before == nil {
		return
	}
	for _, old := range from.sets {
		if old == nil || old.failed {
			continue
		}
		set := m.gather(to.pool, old.filter, func(i int) (bool, error) {
			if before[i] < 0 {
				return m.matchesAll(to.pool, i, old.filter.selectors)
			}
			return old.devices.Has(before[i]), nil
		})
		if !set.failed {
			to.note(set)
		}
	}
}

// noted is how many outcomes for filters are known.
func (p *poolMatches) noted() int {
	n := 0
	for _, set := range p.sets {
		if set != nil {
			n++
		}
	}
	return n
}

// With more outcomes than these, most are not in use any longer, and not worth working out for devices that are new.
const maxCarried = 100

// unchanged maps the devices of a pool to those of an earlier version that selectors cannot tell from them, and others to
// -1; nil if there are none.
func unchanged(from, to *model.Pool) []int {
	before, some := make([]int, len(to.Devices)), false
	for i := range to.Devices {
		before[i] = -1
		at, ok := i, i < len(from.Devices) && from.Devices[i].Name == to.Devices[i].Name // most stay where they are
		if !ok {
			at, ok = from.Index(to.Devices[i].Name)
		}
		if ok && shared(&from.Devices[at], &to.Devices[i]) {
			before[i], some = at, true
		}
	}
	if !some {
		return nil
	}
	return before
}

// shared says whether two devices look alike to selectors because they are from one version of a slice: then they have
// the same maps.
func shared(a, b *model.Device) bool {
	same := func(x, y any) bool { return reflect.ValueOf(x).Pointer() == reflect.ValueOf(y).Pointer() }
	return a.AllowMultipleAllocations == b.AllowMultipleAllocations && same(a.Attributes, b.Attributes) && same(a.Capacity, b.Capacity)
}

func (m *matcher) matchesAll(pool *model.Pool, device int, selectors []string) (bool, error) {
	for _, expression := range selectors {
		if ok, err := m.matches(m.program(expression), pool, device); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}
