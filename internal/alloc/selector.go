package alloc

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"

	"github.com/allot-dev/allot/internal/model"
)

// matcher evaluates selectors and caches the results by pool.
type matcher struct {
	compiled     *cel.Cache
	programs     map[string]*program // by expression
	evaluations  map[evaluationKey]evaluation
	last         lastEvaluation
	costs        costs
	derivations  map[string]*program // programs of derived attributes, by expression
	evaluatedKey []byte              // key of the device being evaluated
	pools        []*poolMatches      // by pool number in the State; nil for pools not used yet
	// filters and selections of all Problems, by key. Their numbers index the results of each pool.
	filters      map[string]*filter
	matchAll     *filter // filter without selectors
	selections   map[string]*selection
	allAvailable map[int]*availableSet // by pool size, for pools with all devices available

	scratch model.Bits // see emptyScratch
	key     []byte     // buffer for selection keys
}

// poolMatches holds the results for one version of a pool.
type poolMatches struct {
	pool       *model.Pool
	taintRules *model.RuleTaints
	filters    []*matchSet       // by filter number
	selections []cachedSelection // by selection number
	// by requirementsKey; without the sets shared by all pools of a size
	available map[string]*availableSet
	// kinds and adminKinds are cached by kindsKey.
	kinds, adminKinds map[string]*deviceKinds

	counters         *counters
	multiAllocatable model.Bits // devices that allow multiple allocations; nil if there are none
	// devices that require a node which skips operations; nil if there are none
	skipsOperations model.Bits
	traits          *traits
	values          map[string]*valueSets // by attribute
}

// cachedSelection is the result for a selection. The selection is compared because numbers are
// reused after the cache was dropped.
type cachedSelection struct {
	selection *selection
	*selectionMatch
}

// selectionMatch is the set of devices that match a selection.
type selectionMatch struct {
	match     *matchSet
	available *availableSet
	free      model.Bits // matching devices that are available
}

// availableSet is the set of devices that taints, features and capacity make available to a
// selection, whatever its selectors.
type availableSet struct {
	devices model.Bits
	capable model.Bits // devices with sufficient capacity when unused
	reasons []string   // why a device is not available; by device; nil if all are available
}

const (
	maxCompiled = 1000 // expressions
	// available sets and value sets of a pool; when it is reached, all are dropped.
	maxSets       = 1000
	maxSelections = 1000 // selections and their filters; this also limits the results of a pool
)

func newMatcher() *matcher {
	features := cel.Features{EnableConsumableCapacity: true, EnableListTypeAttributes: true}
	return &matcher{
		compiled: cel.NewCache(maxCompiled, features),
		programs: map[string]*program{}, evaluations: map[evaluationKey]evaluation{},
		costs: costs{limit: AttemptCost, left: AttemptCost}, derivations: map[string]*program{},
		filters: map[string]*filter{}, matchAll: newFilter(nil, nil, 0), selections: map[string]*selection{},
		allAvailable: map[int]*availableSet{},
	}
}

// pool returns the cached matches of a pool. A changed DeviceTaintRule does not invalidate selector
// results.
func (m *matcher) pool(view *model.PoolView) *poolMatches {
	var old *poolMatches
	if number := view.Number(); number < len(m.pools) {
		old = m.pools[number]
	}
	if old != nil && old.pool == view.Pool {
		if old.taintRules != view.Rules() {
			old.taintRules, old.available, old.selections, old.kinds, old.adminKinds = view.Rules(), nil, nil, nil, nil
		}
		return old
	}
	matches := &poolMatches{
		pool: view.Pool, taintRules: view.Rules(), counters: countersOf(view.Pool),
		multiAllocatable: multiAllocatable(view.Pool), skipsOperations: skippingOperations(view.Pool),
		traits: traitsOf(view.Pool),
	}
	if old != nil && old.pool.ID == view.ID {
		m.carryOver(old, matches)
	}
	m.pools = setAt(m.pools, view.Number(), matches)
	return matches
}

// setAt sets an element, growing the list if necessary.
func setAt[T any](list []T, at int, value T) []T {
	if more := at + 1 - len(list); more > 0 {
		list = append(list, make([]T, more)...)
	}
	list[at] = value
	return list
}

// multiAllocatable returns the devices that allow multiple allocations, or nil if there are none.
func multiAllocatable(pool *model.Pool) model.Bits {
	return devicesWhere(pool, func(u *model.Usage) bool { return u.AllowMultipleAllocations })
}

// skippingOperations returns the devices that require a node which skips operations, or nil if
// there are none.
func skippingOperations(pool *model.Pool) model.Bits {
	return devicesWhere(pool, func(u *model.Usage) bool { return len(u.SkipNodeOperations) > 0 })
}

func devicesWhere(pool *model.Pool, like func(*model.Usage) bool) model.Bits {
	if !pool.Any(like) {
		return nil
	}
	devices := model.NewBits(len(pool.Devices))
	for i := range pool.Devices {
		if like(pool.Devices[i].Usage) {
			devices.Set(i)
		}
	}
	return devices
}

// usable returns the devices that the node supports.
func (p *poolMatches) usable(devices model.Bits, node *model.NodeInfo) model.Bits {
	if p.skipsOperations == nil || node.Node.SkipsOperations {
		return devices
	}
	return devices.AndNot(p.skipsOperations)
}

// cached returns the result for a filter, or nil.
func (p *poolMatches) cached(f *filter) *matchSet {
	if f.number >= len(p.filters) || p.filters[f.number] == nil || p.filters[f.number].filter != f {
		return nil
	}
	return p.filters[f.number]
}

func (p *poolMatches) cache(set *matchSet) { p.filters = setAt(p.filters, set.filter.number, set) }

// matchSelection returns the devices that match a selection.
func (m *matcher) matchSelection(matches *poolMatches, sel *selection) *selectionMatch {
	if n := sel.number; n < len(matches.selections) && matches.selections[n].selection == sel {
		return matches.selections[n].selectionMatch
	}
	f := m.newSelectionMatch(matches, sel)
	if f.match.failed && m.costs.exhausted {
		return f // not cached: the evaluation may succeed later
	}
	matches.selections = setAt(matches.selections, sel.number, cachedSelection{sel, f})
	return f
}

func (m *matcher) newSelectionMatch(matches *poolMatches, sel *selection) *selectionMatch {
	match, open := m.match(matches, sel.filter), m.availableFor(matches, sel)
	if open.reasons != nil {
		return &selectionMatch{match: match, available: open, free: match.devices.And(open.devices)}
	}
	if match.selectionMatch == nil {
		match.selectionMatch = &selectionMatch{match: match, available: open, free: match.devices}
	}
	return match.selectionMatch
}

// availableFor returns the devices that are available given the tolerations and capacity of the
// selection.
func (m *matcher) availableFor(matches *poolMatches, sel *selection) *availableSet {
	if set, ok := matches.available[sel.requirementsKey]; ok {
		return set
	}
	if size := len(matches.pool.Devices); matches.allAvailable(sel) {
		if m.allAvailable[size] == nil {
			m.allAvailable[size] = &availableSet{devices: model.FullBits(size), capable: model.FullBits(size)}
		}
		return m.allAvailable[size]
	}
	if matches.available == nil || len(matches.available) >= maxSets {
		matches.available = map[string]*availableSet{}
	}
	matches.available[sel.requirementsKey] = matches.availableDevices(sel)
	return matches.available[sel.requirementsKey]
}

// allAvailable reports whether availableDevices would return all devices.
func (p *poolMatches) allAvailable(sel *selection) bool {
	var seen *model.Usage
	for i := range p.pool.Devices {
		device := &p.pool.Devices[i]
		if (device.Usage != seen || p.taintRules != nil) && unavailableReason(device, p.taintRules, sel) != "" ||
			capacityReason(device, sel.capacity) != "" {
			return false
		}
		seen = device.Usage
	}
	return true
}

func (p *poolMatches) availableDevices(sel *selection) *availableSet {
	size := len(p.pool.Devices)
	set := &availableSet{devices: model.NewBits(size), capable: model.NewBits(size), reasons: make([]string, size)}
	for i := range p.pool.Devices {
		device := &p.pool.Devices[i]
		why := capacityReason(device, sel.capacity)
		if why == "" {
			set.capable.Set(i)
		}
		if set.reasons[i] = cmp.Or(unavailableReason(device, p.taintRules, sel), why); set.reasons[i] == "" {
			set.devices.Set(i)
		}
	}
	return set
}

// taken returns the devices in use that cannot be shared.
func (p *poolMatches) taken(view *model.PoolView) model.Bits {
	if p.multiAllocatable == nil {
		return view.InUse()
	}
	return view.InUse().AndNot(p.multiAllocatable)
}

// selection has the requirements of a request for each device: selectors, those of the class first,
// tolerations for its taints, and capacity.
type selection struct {
	key             string
	number          int // small unique number, used as an index
	filter          *filter
	classSelectors  int // number of leading selectors that belong to the class
	tolerations     []resourcev1.DeviceToleration
	requirementsKey string // encoded tolerations, capacity and admin access
	capacity        *resourcev1.CapacityRequirements
	admin           bool // devices in use match as well
}

// selection returns the selection of an alternative with this class, from the cache if possible.
func (m *matcher) selection(class *model.Class, alternative *model.Alternative) *selection {
	key := appendRequirements(m.key[:0], alternative)
	asks := len(key)
	// The number is part of the key because reasons distinguish selectors of the class and the
	// request.
	key = append(strconv.AppendInt(key, int64(len(class.Selectors)), 10), 0)
	for _, list := range [][]string{class.Selectors, alternative.Selectors} {
		for _, expression := range list {
			key = append(append(key, expression...), 0)
		}
	}
	m.key = key
	if known, ok := m.selections[string(key)]; ok {
		return known
	}
	if len(m.selections) >= maxSelections {
		clear(m.selections)
		clear(m.filters)
	}
	s := &selection{
		key:    string(key),
		number: len(m.selections), filter: m.filter(slices.Concat(class.Selectors, alternative.Selectors)),
		classSelectors: len(class.Selectors),
		tolerations:    alternative.Tolerations, requirementsKey: string(key[:asks]), capacity: alternative.Capacity,
		admin: alternative.AdminAccess,
	}
	m.selections[s.key] = s
	return s
}

// appendRequirements appends an encoding of the requirements other than selectors.
func appendRequirements(b []byte, alternative *model.Alternative) []byte {
	for i := range alternative.Tolerations {
		t := &alternative.Tolerations[i]
		b = fmt.Appendf(b, "%q %q %q %q\x00", t.Key, t.Operator, t.Value, t.Effect)
	}
	if alternative.Capacity != nil {
		for _, name := range slices.Sorted(maps.Keys(alternative.Capacity.Requests)) {
			amount := alternative.Capacity.Requests[name]
			b = fmt.Appendf(b, "%s %s\x00", name, amount.String())
		}
	}
	return append(strconv.AppendBool(b, alternative.AdminAccess), 0)
}
