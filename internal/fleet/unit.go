package fleet

import (
	"fmt"

	resourcev1 "k8s.io/api/resource/v1"
)

// Unit is one level of a nested topology: a zone, a block, a rack, an NVLink domain. A node pool
// consists of Count units of the first level, each of these of Count units of the next, and so on.
// Units have (nearly) equal numbers of consecutive nodes.
type Unit struct {
	Name  string // units are named <pool>-<Name>-0, <pool>-<Name>-1 and so on
	Count int    // number for each unit of the level above
	Label string // node label for the name of the unit
	// Devices of each unit can be used from all of its nodes.
	Devices []DeviceSet
	// Mesh divides each unit into sub-shapes. It has none if it is nil.
	Mesh *Mesh
}

// unitsAt returns the number of units of a level in the whole pool.
func (p NodePool) unitsAt(level int) int {
	n := 1
	for i := range level + 1 {
		n = min(n*p.Units[i].Count, MaxNodes+1)
	}
	return n
}

// unitName returns the name of a unit of a level, which are numbered through the pool.
func (p NodePool) unitName(level, i int) string {
	return fmt.Sprintf("%s-%s-%d", p.Name, p.Units[level].Name, i)
}

// unitLabels returns the labels of a node with the names of its units. With 5 nodes in 2 units, the
// first three are in unit 0.
func (p NodePool) unitLabels(node int) map[string]string {
	labels := map[string]string{}
	for level := range p.Units {
		labels[p.Units[level].Label] = p.unitName(level, node*p.unitsAt(level)/p.Count)
	}
	return labels
}

// unitPools returns the devices of the units, as pools that the nodes of a unit can reach.
func (p NodePool) unitPools() []NetworkPool {
	var pools []NetworkPool
	for level, unit := range p.Units {
		if len(unit.Devices) == 0 {
			continue
		}
		for i := range p.unitsAt(level) {
			name := p.unitName(level, i)
			pools = append(pools, NetworkPool{
				Name: name, Nodes: map[string]string{unit.Label: name}, Devices: unit.Devices, unit: name,
			})
		}
	}
	return pools
}

// unitDevices returns the number of devices of all units.
func (p NodePool) unitDevices() int {
	n := 0
	for level, unit := range p.Units {
		each := countDevices(unit.Devices)
		if unit.Mesh != nil {
			each += unit.Mesh.devices()
		}
		n += p.unitsAt(level) * each
	}
	return n
}

// meshSlices returns the slices of the meshes of the units.
func (p NodePool) meshSlices(fleetName string) []resourcev1.ResourceSlice {
	var out []resourcev1.ResourceSlice
	for level, unit := range p.Units {
		if unit.Mesh == nil {
			continue
		}
		for i := range p.unitsAt(level) {
			tiles := make([]string, unit.Mesh.tiles())
			for t := range tiles {
				tiles[t] = p.unitName(level+1, i*len(tiles)+t)
			}
			out = append(out, unit.Mesh.slices(fleetName, p.unitName(level, i), p.Units[level+1].Label, tiles)...)
		}
	}
	return out
}

func readUnit(v value) Unit {
	u := Unit{Count: 1}
	v.fields(map[string]func(value){
		"name":    func(v value) { u.Name = v.dnsLabel() },
		"count":   func(v value) { u.Count = v.number(1, MaxNodes) },
		"label":   func(v value) { u.Label = v.labelKey(v.text()) },
		"devices": func(v value) { u.Devices = readAll(v, readDeviceSet) },
		"mesh":    func(v value) { u.Mesh = readMesh(v) },
	})
	if u.Name == "" {
		v.complain("needs a name")
	}
	if u.Label == "" {
		u.Label = "allot.dev/" + u.Name
	}
	return u
}

// checkUnits validates what depends on the other levels and on the pool.
func (p NodePool) checkUnits(v value) {
	labels := map[string]int{}
	for level, item := range v.items() {
		unit := &p.Units[level]
		if other, ok := labels[unit.Label]; ok {
			item.complain("has the label of units[%d]", other)
		}
		labels[unit.Label] = level
		if n := p.unitsAt(level); n > max(p.Count, 1) {
			item.complain("makes %d units of %d nodes", n, p.Count)
		}
		if unit.Mesh == nil {
			continue
		}
		if tiles := unit.Mesh.tiles(); level+1 == len(p.Units) || p.Units[level+1].Count != tiles {
			item.complain("has a mesh of %d tiles, which must be the units of the next level, with count: %d", tiles, tiles)
		}
	}
}
