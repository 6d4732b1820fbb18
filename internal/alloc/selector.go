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

// matcher evaluates selectors and remembers the outcome per device set.
type matcher struct {
	compiled *cel.Cache
	programs map[string]*program // by expression
	outcomes map[glance]outcome
	latest   recent
	costs    costs
	derived  map[string]*program // of derived attributes, by expression
	seen     []byte              // of the device that is looked at
	pools    []*poolMatches      // by their numbers in the State; nil for those that nobody has asked about
	// filters and selections are those of all Problems, by key, so that what is known of one is found by its number.
	filters    map[string]*filter
	everything *filter // without selectors
	selections map[string]*selection
	open       map[int]*openSet // of pools of that size, if all devices can be given away

	scratch model.Bits // see emptied
	key     []byte     // for looking up selections
}

// poolMatches are the outcomes for one version of a pool.
type poolMatches struct {
	pool  *model.Pool
	rules *model.RuleTaints
	sets  []*matchSet         // by the number of their filter
	found []found             // by the number of their selection
	open  map[string]*openSet // by what is asked of them beyond selectors; without those that all pools of a size share
	// The parts are those of Problems, by their shape.
	parts, adminParts map[string]*partition

	counters *counters
	shared   model.Bits // devices that can be had more than once; nil if there are none
	skipping model.Bits // devices that only nodes can use that skip operations; nil if there are none
	traits   *traits
	values   map[string]*valueSets // by attribute
}

// found is what is known of a selection. Numbers are given anew when selections have been forgotten.
type found struct {
	want *selection
	*offered
}

// offered are the devices that match a selection.
type offered struct {
	match *matchSet
	open  *openSet
	free  model.Bits // the devices that match and can be given away
}

// openSet are the devices that can be given away to those who ask for certain things beyond selectors.
type openSet struct {
	devices model.Bits
	capable model.Bits // devices that have the capacity, or could if nobody else had any of it
	barred  []string   // why another device cannot, "" if it can; by index; nil if all can
}

const (
	maxCompiled   = 1000 // expressions
	maxSets       = 1000 // open ones, and values, of a pool; beyond, all are forgotten and worked out anew
	maxSelections = 1000 // the same for selections and their filters, and so the most of these that a pool has outcomes for
)

func newMatcher() *matcher {
	features := cel.Features{EnableConsumableCapacity: true, EnableListTypeAttributes: true}
	return &matcher{
		compiled: cel.NewCache(maxCompiled, features), programs: map[string]*program{}, outcomes: map[glance]outcome{},
		costs: costs{limit: AttemptCost, left: AttemptCost}, derived: map[string]*program{},
		filters: map[string]*filter{}, everything: newFilter(nil, nil, 0), selections: map[string]*selection{}, open: map[int]*openSet{},
	}
}

// pool finds what is known of a pool. Other taint rules leave standing what selectors match.
func (m *matcher) pool(view *model.PoolView) *poolMatches {
	var old *poolMatches
	if number := view.Number(); number < len(m.pools) {
		old = m.pools[number]
	}
	if old != nil && old.pool == view.Pool {
		if old.rules != view.Rules() {
			old.rules, old.open, old.found, old.parts, old.adminParts = view.Rules(), nil, nil, nil, nil
		}
		return old
	}
	known := &poolMatches{
		pool: view.Pool, rules: view.Rules(), counters: countersOf(view.Pool), shared: sharedOf(view.Pool), skipping: skippingOf(view.Pool), traits: traitsOf(view.Pool),
	}
	if old != nil && old.pool.ID == view.ID {
		m.carry(old, known)
	}
	m.pools = put(m.pools, view.Number(), known)
	return known
}

// put puts a value into a list, which grows as far as that is necessary.
func put[T any](list []T, at int, value T) []T {
	if more := at + 1 - len(list); more > 0 {
		list = append(list, make([]T, more)...)
	}
	list[at] = value
	return list
}

// sharedOf are the devices that can be had more than once; nil if there are none.
func sharedOf(pool *model.Pool) model.Bits {
	return devicesLike(pool, func(u *model.Usage) bool { return u.AllowMultipleAllocations })
}

// skippingOf returns the devices that only nodes can use that skip operations; nil if there are none.
func skippingOf(pool *model.Pool) model.Bits {
	return devicesLike(pool, func(u *model.Usage) bool { return len(u.SkipNodeOperations) > 0 })
}

func devicesLike(pool *model.Pool, like func(*model.Usage) bool) model.Bits {
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

// usable returns those of the devices that the node knows how to use.
func (p *poolMatches) usable(devices model.Bits, node *model.NodeInfo) model.Bits {
	if p.skipping == nil || node.Node.SkipsOperations {
		return devices
	}
	return devices.AndNot(p.skipping)
}

// set is the outcome for a filter, nil if it is not known.
func (p *poolMatches) set(f *filter) *matchSet {
	if f.number >= len(p.sets) || p.sets[f.number] == nil || p.sets[f.number].filter != f {
		return nil
	}
	return p.sets[f.number]
}

func (p *poolMatches) note(set *matchSet) { p.sets = put(p.sets, set.filter.number, set) }

// found are the devices that match a selection, and those of them that can be given away.
func (m *matcher) found(known *poolMatches, want *selection) *offered {
	if n := want.number; n < len(known.found) && known.found[n].want == want {
		return known.found[n].offered
	}
	f := m.offered(known, want)
	if f.match.failed && m.costs.exhausted {
		return f // it may not fail when it can be evaluated
	}
	known.found = put(known.found, want.number, found{want, f})
	return f
}

func (m *matcher) offered(known *poolMatches, want *selection) *offered {
	match, open := m.match(known, want.filter), m.openTo(known, want)
	if open.barred != nil {
		return &offered{match: match, open: open, free: match.devices.And(open.devices)}
	}
	if match.open == nil {
		match.open = &offered{match: match, open: open, free: match.devices}
	}
	return match.open
}

// openTo are the devices that can be given away as far as they and the selection's tolerations and capacity say.
func (m *matcher) openTo(known *poolMatches, want *selection) *openSet {
	if set, ok := known.open[want.asks]; ok {
		return set
	}
	if size := len(known.pool.Devices); known.allOpen(want) {
		if m.open[size] == nil {
			m.open[size] = &openSet{devices: model.FullBits(size), capable: model.FullBits(size)}
		}
		return m.open[size]
	}
	if known.open == nil || len(known.open) >= maxSets {
		known.open = map[string]*openSet{}
	}
	known.open[want.asks] = known.someOpen(want)
	return known.open[want.asks]
}

// allOpen looks for what keeps someOpen from being all.
func (p *poolMatches) allOpen(want *selection) bool {
	var seen *model.Usage
	for i := range p.pool.Devices {
		device := &p.pool.Devices[i]
		if (device.Usage != seen || p.rules != nil) && closedBy(device, p.rules, want) != "" || incapable(device, want.capacity) != "" {
			return false
		}
		seen = device.Usage
	}
	return true
}

func (p *poolMatches) someOpen(want *selection) *openSet {
	size := len(p.pool.Devices)
	set := &openSet{devices: model.NewBits(size), capable: model.NewBits(size), barred: make([]string, size)}
	for i := range p.pool.Devices {
		device := &p.pool.Devices[i]
		why := incapable(device, want.capacity)
		if why == "" {
			set.capable.Set(i)
		}
		if set.barred[i] = cmp.Or(closedBy(device, p.rules, want), why); set.barred[i] == "" {
			set.devices.Set(i)
		}
	}
	return set
}

// taken are the devices that nobody else can have.
func (p *poolMatches) taken(view *model.PoolView) model.Bits {
	if p.shared == nil {
		return view.Taken()
	}
	return view.Taken().AndNot(p.shared)
}

// selection is what is asked of each device: a list of selectors, those of the class first, and to have no taints but
// those that are tolerated.
type selection struct {
	key         string
	number      int // a small one of its own
	filter      *filter
	ofClass     int // so many selectors are the class's
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
		clear(m.filters)
	}
	s := &selection{
		key: string(key), number: len(m.selections), filter: m.filter(slices.Concat(class.Selectors, option.Selectors)), ofClass: len(class.Selectors),
		tolerations: option.Tolerations, asks: string(key[:asks]), capacity: option.Capacity, admin: option.AdminAccess,
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
