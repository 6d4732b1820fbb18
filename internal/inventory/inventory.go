package inventory

import (
	"maps"
	"slices"
	"strings"

	"github.com/allot-dev/allot/internal/model"
)

// Matcher returns the devices of a pool that a class selects, and whether that is known.
type Matcher func(view *model.PoolView, class *model.Class) (model.Bits, bool)

// Inventory counts the devices of one State.
type Inventory struct {
	state   *model.State
	matches Matcher
	pools   map[model.PoolID]*poolCount
	classes []*model.Class // classes for which the pools were counted
}

// New returns an Inventory that has counted nothing.
func New(state *model.State, matches Matcher) *Inventory {
	return &Inventory{state: state, matches: matches, pools: map[model.PoolID]*poolCount{}}
}

// poolCount has the number of devices of one pool in each state.
type poolCount struct {
	version uint64
	exists  bool // whether the State still has the pool
	local   bool
	devices tally
	classes []tally
}

type tally [deviceStates]int

func (t *tally) add(other *tally) {
	for state, n := range other {
		t[state] += n
	}
}

// Update counts the pools that have changed, at most limit of them. It reports whether all are up to
// date, which they stay until the State changes.
func (i *Inventory) Update(limit int) bool {
	if classes := i.state.Classes.List(); !slices.Equal(classes, i.classes) {
		i.classes = classes
		clear(i.pools)
	}
	for _, count := range i.pools {
		count.exists = false
	}
	done := true
	for pool := range i.state.PoolVersions() {
		count := i.pools[pool.ID]
		if count != nil {
			count.exists = true
		}
		if count != nil && count.version == pool.Version {
			continue
		}
		if limit--; limit < 0 {
			done = false
			continue
		}
		count = i.count(pool.ID)
		count.version, count.exists = pool.Version, true
		count.devices[Unpublished] = pool.Unpublished
		i.pools[pool.ID] = count
	}
	maps.DeleteFunc(i.pools, func(_ model.PoolID, count *poolCount) bool { return !count.exists })
	return done
}

// count counts one pool.
func (i *Inventory) count(id model.PoolID) *poolCount {
	count := &poolCount{local: true, classes: make([]tally, len(i.classes))}
	view, ok := i.state.Devices.View(id)
	if !ok {
		return count
	}
	count.local = view.IsLocal()
	states := statesOf(&view)
	for _, state := range states {
		count.devices[state]++
	}
	for c, class := range i.classes {
		devices, known := i.matches(&view, class)
		if !known {
			continue
		}
		devices.Each(func(device int) bool {
			count.classes[c][states[device]]++
			return true
		})
	}
	return count
}

// PoolCount is the number of devices of a driver and a pool in each state. The pools that only one
// node can use are summed up, and have no Pool.
type PoolCount struct {
	Driver, Pool string
	States       [deviceStates]int
}

// ClassCount is the number of devices that a class selects, in each state.
type ClassCount struct {
	Class  string
	States [deviceStates]int
}

// Pools returns the counts as of the last Update, by driver and pool. A driver with more than limit
// pools that several nodes can use has the rest summed up without a name, too.
func (i *Inventory) Pools(limit int) []PoolCount {
	sums := map[model.PoolID]*tally{}
	add := func(id model.PoolID, count *poolCount) {
		if sums[id] == nil {
			sums[id] = &tally{}
		}
		sums[id].add(&count.devices)
	}
	var shared []model.PoolID
	for id, count := range i.pools {
		if count.local {
			add(model.PoolID{Driver: id.Driver}, count)
		} else {
			shared = append(shared, id)
		}
	}
	slices.SortFunc(shared, comparePools)
	named := map[string]int{}
	for _, id := range shared {
		count := i.pools[id]
		if named[id.Driver]++; named[id.Driver] > limit {
			id.Pool = ""
		}
		add(id, count)
	}
	var out []PoolCount
	for _, id := range slices.SortedFunc(maps.Keys(sums), comparePools) {
		out = append(out, PoolCount{Driver: id.Driver, Pool: id.Pool, States: *sums[id]})
	}
	return out
}

// Classes returns the counts as of the last Update, by class.
func (i *Inventory) Classes() []ClassCount {
	out := make([]ClassCount, len(i.classes))
	for c, class := range i.classes {
		out[c].Class = class.Name
	}
	for _, count := range i.pools {
		for c := range count.classes {
			(*tally)(&out[c].States).add(&count.classes[c])
		}
	}
	return out
}

func comparePools(a, b model.PoolID) int {
	if c := strings.Compare(a.Driver, b.Driver); c != 0 {
		return c
	}
	return strings.Compare(a.Pool, b.Pool)
}
