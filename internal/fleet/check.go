package fleet

import (
	"fmt"
	"strings"
)

// check looks at what only the whole fleet can tell: names that collide, and sizes.
func (f Fleet) check(doc value) {
	if nodes, _ := f.Size(); nodes > MaxNodes {
		doc.complain("describes %d nodes, at most %d are possible", nodes, MaxNodes)
		return
	}
	taken := map[string]string{} // name of a node or network pool → what has it
	for i, pool := range f.Pools {
		at := doc.item("pools", i)
		for n := range pool.Count {
			name := pool.nodeName(n)
			if other, ok := taken[name]; ok {
				at.complain("node %s is also in %s", name, other)
				break
			}
			taken[name] = at.path
		}
		checkDevices(at, pool.Devices)
	}
	for i, pool := range f.Network {
		at := doc.item("network", i)
		if other, ok := taken[pool.Name]; ok {
			at.complain("the name %s is also in %s", pool.Name, other)
		}
		taken[pool.Name] = at.path
		checkDevices(at, pool.Devices)
		if names := drivers(pool.Devices); len(names) > 1 {
			at.complain("has the drivers %s, but a network pool has one", strings.Join(names, ", "))
		}
	}
}

func checkDevices(pool value, sets []DeviceSet) {
	if n := countDevices(sets); n > MaxDevices {
		pool.complain("has %d devices, at most %d are possible", n, MaxDevices)
		return
	}
	type device struct{ driver, name string }
	seen := map[device]int{}
	for i, set := range sets {
		for n := range set.Count {
			d := device{set.Driver, place{node: "node", rack: "rack", index: set.First + n}.fill(set.Name)}
			if other, ok := seen[d]; ok {
				pool.item("devices", i).complain("device %s of %s is also in devices[%d]; give another name or first", d.name, d.driver, other)
				break
			}
			seen[d] = i
		}
	}
}

// item is the i-th entry of the list that stands under key, which must be there.
func (v value) item(key string, i int) value {
	for _, e := range v.entries() {
		if e.key == key {
			return e.items()[i]
		}
	}
	panic(fmt.Sprintf("fleet: no %s[%d] under %q", key, i, v.path))
}
