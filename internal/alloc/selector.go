package alloc

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"

	"github.com/allot-dev/allot/internal/model"
)

// matcher evaluates selectors and remembers the outcome per device set.
type matcher struct {
	compiled *cel.Cache
	programs map[string]*program // by expression
	outcomes map[glance]outcome
	seen     []byte // for looking up one of these
	pools    map[*model.Pool]*poolMatches
	newest   map[model.PoolID]*poolMatches // the same ones
	// selections are those of all Problems, by key, so that what is known of one is found by its address.
	selections map[string]*selection
	key        []byte // for looking up one of these
}

// poolMatches are the outcomes for one version of a pool.
type poolMatches struct {
	pool  *model.Pool
	rules *model.RuleTaints
	sets  map[string]*matchSet // by the selectors, joined
	open  map[string]*openSet  // by what is asked of them beyond selectors
	both  map[*selection]found
	// The parts are those of Problems, by their shape.
	parts, adminParts map[string]*partition

	counters *counters
	shared   model.Bits // devices that can be had more than once; nil if there are none
	traits   *traits
	values   map[string]*valueSets // by attribute
}

// found is what the matcher knows of a selection.
type found struct {
	match *matchSet
	open  *openSet
	free  model.Bits // the devices that match and can be given away
}

// openSet are the devices that can be given away to those who ask for certain things beyond selectors.
type openSet struct {
	devices model.Bits
	capable model.Bits // devices that have the capacity, or could if nobody else had any of it
	barred  []string   // why another device cannot, "" if it can; by index
}

// matchSet are the devices that match a list of selectors, or the failure that stops the allocation.
type matchSet struct {
	selectors []string
	devices   model.Bits
	failed    bool
	// The first failure, by device.
	selector int
	device   int
	message  string
}

const (
	maxCompiled   = 1000 // expressions
	maxSets       = 1000 // a pool; beyond, all outcomes for it are forgotten and worked out anew
	maxSelections = 10_000
	maxPools      = 20_000 // the same for pools, of which those that are gone would stay for ever
)

func newMatcher() *matcher {
	features := cel.Features{EnableConsumableCapacity: true, EnableListTypeAttributes: true}
	return &matcher{
		compiled: cel.NewCache(maxCompiled, features), programs: map[string]*program{}, outcomes: map[glance]outcome{},
		pools: map[*model.Pool]*poolMatches{}, newest: map[model.PoolID]*poolMatches{}, selections: map[string]*selection{},
	}
}

// pool finds what is known of a pool. Other taint rules leave standing what selectors match.
func (m *matcher) pool(view *model.PoolView) *poolMatches {
	pool := view.Pool
	if known, ok := m.pools[pool]; ok {
		if known.rules != view.Rules() {
			known.rules = view.Rules()
			clear(known.open)
			clear(known.both)
			known.parts, known.adminParts = nil, nil
		}
		return known
	}
	if len(m.pools) >= maxPools {
		clear(m.pools)
		clear(m.newest)
	}
	known := &poolMatches{
		pool: pool, rules: view.Rules(), sets: map[string]*matchSet{}, open: map[string]*openSet{}, both: map[*selection]found{}, values: map[string]*valueSets{},
	}
	known.counters, known.traits = countersOf(pool), traitsOf(pool)
	for i := range pool.Devices {
		if pool.Devices[i].AllowMultipleAllocations {
			if known.shared == nil {
				known.shared = model.NewBits(len(pool.Devices))
			}
			known.shared.Set(i)
		}
	}
	if old, ok := m.newest[pool.ID]; ok {
		m.carry(old, known)
		delete(m.pools, old.pool)
	}
	m.pools[pool], m.newest[pool.ID] = known, known
	return known
}

// found are the devices that match a selection, and those of them that can be given away.
func (m *matcher) found(known *poolMatches, want *selection) found {
	if f, ok := known.both[want]; ok {
		return f
	}
	if len(known.both) >= maxSets {
		clear(known.both)
	}
	f := found{match: m.match(known, want), open: known.openTo(want)}
	f.free = f.match.devices.And(f.open.devices)
	known.both[want] = f
	return f
}

// openTo are the devices that can be given away as far as they and the selection's tolerations and capacity say.
func (p *poolMatches) openTo(want *selection) *openSet {
	if set, ok := p.open[want.asks]; ok {
		return set
	}
	if len(p.open) >= maxSets {
		clear(p.open)
	}
	set := &openSet{devices: model.NewBits(len(p.pool.Devices)), capable: model.NewBits(len(p.pool.Devices)), barred: make([]string, len(p.pool.Devices))}
	for i := range p.pool.Devices {
		device := &p.pool.Devices[i]
		_, why := consumed(device, want.capacity)
		if why == "" {
			set.capable.Set(i)
		}
		if set.barred[i] = cmp.Or(closedBy(device, p.rules, want), why); set.barred[i] == "" {
			set.devices.Set(i)
		}
	}
	p.open[want.asks] = set
	return set
}

// taken are the devices that nobody else can have.
func (p *poolMatches) taken(view *model.PoolView) model.Bits {
	if p.shared == nil {
		return view.Taken()
	}
	return view.Taken().AndNot(p.shared)
}

// match gives the devices of the pool that match all selectors. Each is evaluated only on devices that match those
// before it, so that a class can guard what a request's selector takes for granted.
func (m *matcher) match(known *poolMatches, want *selection) *matchSet {
	if set, ok := known.sets[want.joined]; ok {
		return set
	}
	if len(known.sets) >= maxSets {
		clear(known.sets)
	}
	devices := model.FullBits(len(known.pool.Devices))
	set := &matchSet{devices: devices}
	for n := 0; n < len(want.selectors) && !set.failed; n++ {
		prefix := joinSelectors(want.selectors[:n+1])
		if cached, ok := known.sets[prefix]; ok {
			set = cached
			continue
		}
		set = m.narrow(known.pool, set.devices, want.selectors[n])
		set.selector, set.selectors = n, want.selectors[:n+1]
		known.sets[prefix] = set
	}
	known.sets[want.joined] = set
	return set
}

func (m *matcher) narrow(pool *model.Pool, devices model.Bits, expression string) *matchSet {
	set := &matchSet{devices: model.NewBits(len(pool.Devices))}
	program := m.program(expression)
	devices.Each(func(i int) bool {
		ok, err := m.matches(program, pool, i)
		if err != nil {
			set.failed, set.device, set.message = true, i, err.Error()
			return false
		}
		if ok {
			set.devices.Set(i)
		}
		return true
	})
	return set
}

// selection is what is asked of each device: a list of selectors, those of the class first, and to have no taints but
// those that are tolerated.
type selection struct {
	key         string
	selectors   []string
	joined      string // the selectors
	ofClass     int    // so many are the class's
	tolerations []resourcev1.DeviceToleration
	asks        string // tolerations, capacity and access
	capacity    *resourcev1.CapacityRequirements
	admin       bool // also devices that others have
}

// selection is what an option of the class asks for. What was asked for before is found again.
func (m *matcher) selection(class *model.Class, option *model.Option) *selection {
	key := appendAsks(m.key[:0], option)
	asks := len(key)
	// Reasons tell selectors of the class from those of the request.
	key = append(strconv.AppendInt(key, int64(len(class.Selectors)), 10), 0)
	for _, list := range [][]string{class.Selectors, option.Selectors} {
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
	}
	list := slices.Concat(class.Selectors, option.Selectors)
	s := &selection{
		key: string(key), selectors: list, joined: joinSelectors(list), ofClass: len(class.Selectors), tolerations: option.Tolerations,
		asks: string(key[:asks]), capacity: option.Capacity, admin: option.AdminAccess,
	}
	m.selections[s.key] = s
	return s
}

// appendAsks writes down what is asked of devices beyond selectors.
func appendAsks(b []byte, option *model.Option) []byte {
	for i := range option.Tolerations {
		t := &option.Tolerations[i]
		b = fmt.Appendf(b, "%q %q %q %q\x00", t.Key, t.Operator, t.Value, t.Effect)
	}
	if option.Capacity != nil {
		for _, name := range slices.Sorted(maps.Keys(option.Capacity.Requests)) {
			amount := option.Capacity.Requests[name]
			b = fmt.Appendf(b, "%s %s\x00", name, amount.String())
		}
	}
	return append(strconv.AppendBool(b, option.AdminAccess), 0)
}

// joinSelectors makes a key; expressions have no NUL.
func joinSelectors(list []string) string { return strings.Join(list, "\x00") }
