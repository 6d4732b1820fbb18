package fleet

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// check validates what depends on the whole fleet: unique names, and sizes.
func (f Fleet) check(doc value) {
	if nodes, _ := f.Size(); nodes > MaxNodes {
		doc.complain("describes %d nodes, at most %d are possible", nodes, MaxNodes)
		return
	}
	taken := map[string]string{} // owner by name of a node or network pool
	// owner by prefix of slice names: node or network pool, and driver
	begins := map[string]string{}
	for i, pool := range f.Pools {
		at := doc.item("pools", i)
		for n := range pool.Count {
			name := pool.nodeName(n)
			if other, ok := taken[name]; ok {
				at.complain("node %s is also in %s", name, other)
				break
			}
			taken[name] = at.path
			if !checkSlices(at, begins, name, pool.Devices) {
				break
			}
		}
		pool.check(at)
		pool.checkUnitPools(at, taken, begins)
	}
	for i, pool := range f.Network {
		at := doc.item("network", i)
		if other, ok := taken[pool.Name]; ok {
			at.complain("the name %s is also in %s", pool.Name, other)
		}
		taken[pool.Name] = at.path
		checkSlices(at, begins, pool.Name, pool.Devices)
		checkDevices(at, pool.Devices, place{})
		if names := drivers(pool.Devices); len(names) > 1 {
			at.complain("has the drivers %s, but a network pool has one", strings.Join(names, ", "))
		}
	}
}

// check validates the last node, which has the longest names.
func (p NodePool) check(at value) {
	if p.Count == 0 {
		return
	}
	last := place{node: p.nodeName(p.Count - 1), rack: p.rackName(p.Count - 1)}
	at.complainAll(last.rack, validation.IsValidLabelValue(last.rack))
	checkDevices(at, p.Devices, last)
}

// checkUnitPools validates the devices of units, whose names are those of pools.
func (p NodePool) checkUnitPools(at value, taken, begins map[string]string) {
	for _, unit := range p.unitPools() {
		if other, ok := taken[unit.Name]; ok {
			at.complain("the name %s of a unit is also in %s", unit.Name, other)
			return
		}
		taken[unit.Name] = at.path
		if !checkSlices(at, begins, unit.Name, unit.Devices) {
			return
		}
	}
	for level := range p.Units {
		name := p.unitName(level, p.unitsAt(level)-1)
		at.complainAll(name, validation.IsDNS1123Label(name))
		checkDevices(at.item("units", level), p.Units[level].Devices, place{unit: name})
	}
}

// checkSlices reports slices with the same name prefix as those of another pool: for example a-b
// and c.example.com, and a and b-c.example.com.
func checkSlices(at value, taken map[string]string, pool string, sets []DeviceSet) bool {
	for _, driver := range drivers(sets) {
		name := pool + "-" + driver
		if other, ok := taken[name]; ok && other != at.path {
			at.complain("slices of %s for %s would have the names of slices of %s", driver, pool, other)
			return false
		}
		taken[name] = at.path
	}
	return true
}

// checkDevices validates the devices of a pool at one place.
func checkDevices(pool value, sets []DeviceSet, at place) {
	if n := countDevices(sets); n > MaxDevices {
		pool.complain("has %d devices, at most %d are possible", n, MaxDevices)
		return
	}
	type device struct{ driver, name string }
	seen := map[device]int{}
	for i, set := range sets {
		if set.Count > 0 {
			at.index = set.First + set.Count - 1
			set.check(pool.item("devices", i), at)
		}
		for n := range set.Count {
			at.index = set.First + n
			d := device{set.Driver, at.fill(set.Name)}
			if other, ok := seen[d]; ok {
				pool.item("devices", i).complain(
					"device %s of %s is also in devices[%d]; give another name or first",
					d.name,
					d.driver,
					other,
				)
				break
			}
			seen[d] = i
		}
	}
}

// check validates what readAttributes and deviceName cannot know: the substituted placeholders.
func (s DeviceSet) check(v value, at place) {
	name := at.fill(s.Name)
	v.complainAll(name, validation.IsDNS1123Label(name))
	for _, key := range slices.Sorted(maps.Keys(s.Attributes)) {
		if _, err := s.Attributes[key].valueAt(at); err != nil {
			v.complain("attributes.%s: %v", key, err)
		}
	}
}

// item returns the i-th entry of the list under key, which must exist.
func (v value) item(key string, i int) value {
	for _, e := range v.entries() {
		if e.key == key {
			return e.items()[i]
		}
	}
	panic(fmt.Sprintf("fleet: no %s[%d] under %q", key, i, v.path))
}
