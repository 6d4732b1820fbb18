package alloc

import (
	"context"
	"strings"

	"k8s.io/dynamic-resource-allocation/cel"

	"github.com/allot-dev/allot/internal/model"
)

// matcher evaluates selectors and remembers the outcome per device set.
type matcher struct {
	compiled *cel.Cache
	pools    map[model.PoolID]*poolMatches
}

// poolMatches are the outcomes for one version of a pool.
type poolMatches struct {
	pool   *model.Pool
	sets   map[string]*matchSet // by the selectors, joined
	barred []string             // why a device cannot be used at all, "" if it can; by index
	open   model.Bits           // devices that are not barred
}

// matchSet are the devices that match a list of selectors, or the failure that stops the allocation.
type matchSet struct {
	devices model.Bits
	failed  bool
	// The first failure, by device.
	selector int
	device   int
	message  string
}

const (
	maxCompiled = 1000   // expressions
	maxSets     = 1000   // a pool; beyond, all outcomes for it are forgotten and worked out anew
	maxPools    = 20_000 // the same for pools, of which those that are gone would stay for ever
)

func newMatcher() *matcher {
	features := cel.Features{EnableConsumableCapacity: true, EnableListTypeAttributes: true}
	return &matcher{compiled: cel.NewCache(maxCompiled, features), pools: map[model.PoolID]*poolMatches{}}
}

func (m *matcher) pool(pool *model.Pool) *poolMatches {
	known := m.pools[pool.ID]
	if known != nil && known.pool == pool {
		return known
	}
	if len(m.pools) >= maxPools {
		clear(m.pools)
	}
	known = &poolMatches{pool: pool, sets: map[string]*matchSet{}, open: model.NewBits(len(pool.Devices))}
	known.barred = make([]string, len(pool.Devices))
	for i := range pool.Devices {
		if known.barred[i] = barredBy(&pool.Devices[i]); known.barred[i] == "" {
			known.open.Set(i)
		}
	}
	m.pools[pool.ID] = known
	return known
}

// match gives the devices of the pool that match all selectors. Each is evaluated only on devices that match those
// before it, so that a class can guard what a request's selector takes for granted.
func (m *matcher) match(known *poolMatches, want *selection) *matchSet {
	if set, ok := known.sets[want.key]; ok {
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
		set.selector = n
		known.sets[prefix] = set
	}
	known.sets[want.key] = set
	return set
}

func (m *matcher) narrow(pool *model.Pool, devices model.Bits, expression string) *matchSet {
	set := &matchSet{devices: model.NewBits(len(pool.Devices))}
	program := m.compiled.GetOrCompile(expression)
	devices.Each(func(i int) bool {
		ok, err := matches(&program, pool, i)
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

func matches(program *cel.CompilationResult, pool *model.Pool, i int) (bool, error) {
	if program.Error != nil {
		return false, program.Error
	}
	device := &pool.Devices[i]
	ok, _, err := program.DeviceMatches(context.Background(), cel.Device{
		Driver:                   pool.ID.Driver,
		AllowMultipleAllocations: &device.AllowMultipleAllocations,
		Attributes:               device.Attributes,
		Capacity:                 device.Capacity,
	})
	return ok, err
}

// selection is a list of selectors, those of the class first.
type selection struct {
	key       string
	selectors []string
	ofClass   int // so many are the class's
}

func newSelection(class *model.Class, selectors []string) *selection {
	list := make([]string, 0, len(class.Selectors)+len(selectors))
	list = append(append(list, class.Selectors...), selectors...)
	return &selection{key: joinSelectors(list), selectors: list, ofClass: len(class.Selectors)}
}

// joinSelectors makes a key; expressions have no NUL.
func joinSelectors(list []string) string { return strings.Join(list, "\x00") }
