package alloc

import (
	"errors"
	"slices"
	"strings"

	"github.com/allot-dev/allot/internal/model"
)

// filter is a list of selectors. Each is evaluated only on devices that match those before it, so
// that a class can guard what the selectors of a request require.
type filter struct {
	parent    *filter // filter without the last selector; nil if there is none
	selectors []string
	key       string   // selectors, joined
	number    int      // small unique number, used as an index
	program   *program // compiled last selector; nil until it is needed
	// Pools of the same size of which all devices match, or none, share the result.
	allSets, emptySets map[int]*matchSet
}

// matchSet is the set of devices of a pool that match a filter, or the error that stops the
// allocation.
type matchSet struct {
	filter      *filter // if failed: the filter up to the failing selector
	devices     model.Bits
	failed      bool
	device      int // first device with an error
	message     string
	costLimited bool // the evaluation was skipped because of its cost
	// result for pools with all devices available; nil until it is needed
	selectionMatch *selectionMatch
}

func newFilter(before *filter, selectors []string, number int) *filter {
	return &filter{
		parent: before, selectors: selectors, key: joinSelectors(selectors), number: number,
		allSets: map[int]*matchSet{}, emptySets: map[int]*matchSet{},
	}
}

// joinSelectors returns a key for the list. Expressions do not contain NUL.
func joinSelectors(list []string) string { return strings.Join(list, "\x00") }

// prefix returns the filter with the first selectors only.
func (f *filter) prefix(selectors int) *filter {
	for len(f.selectors) > selectors {
		f = f.parent
	}
	return f
}

func (f *filter) lastSelector() string { return f.selectors[len(f.selectors)-1] }

// matchSet returns the result for a pool. The devices are copied.
func (f *filter) matchSet(devices model.Bits, size int) *matchSet {
	switch devices.Len() {
	case size:
		return f.allMatch(size)
	case 0:
		if f.emptySets[size] == nil {
			f.emptySets[size] = &matchSet{filter: f, devices: model.NewBits(size)}
		}
		return f.emptySets[size]
	}
	return &matchSet{filter: f, devices: slices.Clone(devices)}
}

// allMatch returns the result for a pool of which all devices match.
func (f *filter) allMatch(size int) *matchSet {
	if f.allSets[size] == nil {
		f.allSets[size] = &matchSet{filter: f, devices: model.FullBits(size)}
	}
	return f.allSets[size]
}

// filter returns the filter for the list of selectors.
func (m *matcher) filter(selectors []string) *filter {
	f := m.matchAll
	for n := range selectors {
		key := joinSelectors(selectors[:n+1])
		if m.filters[key] == nil {
			m.filters[key] = newFilter(f, selectors[:n+1], len(m.filters))
		}
		f = m.filters[key]
	}
	return f
}

// match returns the devices of the pool that match the filter.
func (m *matcher) match(matches *poolMatches, f *filter) *matchSet {
	if f.parent == nil {
		return f.allMatch(len(matches.pool.Devices))
	}
	if set := matches.cached(f); set != nil {
		return set
	}
	before := m.match(matches, f.parent)
	if before.failed {
		return before
	}
	if f.program == nil {
		f.program = m.program(f.lastSelector())
	}
	set := m.evaluateEach(matches.pool, f, func(i int) (bool, error) {
		if !before.devices.Has(i) {
			return false, nil
		}
		return m.matches(f.program, matches.pool, i)
	})
	if !set.failed || !m.costs.exhausted {
		matches.cache(set)
	}
	return set
}

// evaluateEach evaluates matches for each device of a pool until one fails.
func (m *matcher) evaluateEach(pool *model.Pool, f *filter, matches func(device int) (bool, error)) *matchSet {
	size := len(pool.Devices)
	devices := m.emptyScratch(size)
	for i := range size {
		ok, err := matches(i)
		if err != nil {
			return &matchSet{
				filter:      f,
				devices:     slices.Clone(devices),
				failed:      true,
				device:      i,
				message:     err.Error(),
				costLimited: errors.Is(err, errCostLimit),
			}
		}
		if ok {
			devices.Set(i)
		}
	}
	return f.matchSet(devices, size)
}

// emptyScratch returns an empty set that is valid until the next call.
func (m *matcher) emptyScratch(size int) model.Bits {
	if words := (size + 63) / 64; len(m.scratch) < words {
		m.scratch = model.NewBits(size)
	}
	devices := m.scratch[:(size+63)/64]
	clear(devices)
	return devices
}
