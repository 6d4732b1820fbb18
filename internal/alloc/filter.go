package alloc

import (
	"errors"
	"slices"
	"strings"

	"github.com/allot-dev/allot/internal/model"
)

// filter is a list of selectors. Each is evaluated only on devices that match those before it, so that a class can guard what a
// request's selector takes for granted.
type filter struct {
	before    *filter // without the last one; nil if there is none
	selectors []string
	key       string   // these, joined
	number    int      // a small one of its own
	program   *program // of the last selector; nil until somebody asks
	// Pools of one size of which all devices match, or none, share what is known of them.
	all, none map[int]*matchSet
}

// matchSet are the devices of a pool that match a filter, or the failure that stops the allocation.
type matchSet struct {
	filter  *filter // if it failed: as far as the selector that did
	devices model.Bits
	failed  bool
	device  int // the first that fails
	message string
	costly  bool     // it was not evaluated
	open    *offered // if all devices of the pool are open; nil until somebody asks
}

func newFilter(before *filter, selectors []string, number int) *filter {
	return &filter{
		before: before, selectors: selectors, key: joinSelectors(selectors), number: number,
		all: map[int]*matchSet{}, none: map[int]*matchSet{},
	}
}

// joinSelectors makes a key; expressions have no NUL.
func joinSelectors(list []string) string { return strings.Join(list, "\x00") }

// first is the filter by the first so many selectors.
func (f *filter) first(selectors int) *filter {
	for len(f.selectors) > selectors {
		f = f.before
	}
	return f
}

// last is the last selector.
func (f *filter) last() string { return f.selectors[len(f.selectors)-1] }

// set is the outcome for a pool. The devices are the caller's own.
func (f *filter) set(devices model.Bits, size int) *matchSet {
	switch devices.Len() {
	case size:
		return f.whole(size)
	case 0:
		if f.none[size] == nil {
			f.none[size] = &matchSet{filter: f, devices: model.NewBits(size)}
		}
		return f.none[size]
	}
	return &matchSet{filter: f, devices: slices.Clone(devices)}
}

// whole is the outcome for a pool of which all devices match.
func (f *filter) whole(size int) *matchSet {
	if f.all[size] == nil {
		f.all[size] = &matchSet{filter: f, devices: model.FullBits(size)}
	}
	return f.all[size]
}

// filter finds the filter by these selectors.
func (m *matcher) filter(selectors []string) *filter {
	f := m.everything
	for n := range selectors {
		key := joinSelectors(selectors[:n+1])
		if m.filters[key] == nil {
			m.filters[key] = newFilter(f, selectors[:n+1], len(m.filters))
		}
		f = m.filters[key]
	}
	return f
}

// match gives the devices of the pool that match the filter.
func (m *matcher) match(known *poolMatches, f *filter) *matchSet {
	if f.before == nil {
		return f.whole(len(known.pool.Devices))
	}
	if set := known.set(f); set != nil {
		return set
	}
	before := m.match(known, f.before)
	if before.failed {
		return before
	}
	if f.program == nil {
		f.program = m.program(f.last())
	}
	set := m.gather(known.pool, f, func(i int) (bool, error) {
		if !before.devices.Has(i) {
			return false, nil
		}
		return m.matches(f.program, known.pool, i)
	})
	if !set.failed || !m.costs.exhausted {
		known.note(set)
	}
	return set
}

// gather asks about each device of a pool, until one fails.
func (m *matcher) gather(pool *model.Pool, f *filter, matches func(device int) (bool, error)) *matchSet {
	size := len(pool.Devices)
	devices := m.emptied(size)
	for i := range size {
		ok, err := matches(i)
		if err != nil {
			return &matchSet{filter: f, devices: slices.Clone(devices), failed: true, device: i, message: err.Error(), costly: errors.Is(err, errUnfinished)}
		}
		if ok {
			devices.Set(i)
		}
	}
	return f.set(devices, size)
}

// emptied is an empty set for the time being.
func (m *matcher) emptied(size int) model.Bits {
	if words := (size + 63) / 64; len(m.scratch) < words {
		m.scratch = model.NewBits(size)
	}
	devices := m.scratch[:(size+63)/64]
	clear(devices)
	return devices
}
