package fleet

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Slices returns the ResourceSlices of the fleet: one pool for each node and driver, named after
// the node, one for each unit and driver, and one for each network pool. A pool is divided into
// slices of at most 128 devices, or 64 if these consume counters, with generation 1.
func (f Fleet) Slices() []resourcev1.ResourceSlice {
	var out []resourcev1.ResourceSlice
	for _, pool := range f.Pools {
		for i := range pool.Count {
			out = append(out, pool.slices(f.Name, i)...)
		}
		for _, unit := range pool.unitPools() {
			out = append(out, unit.slices(f.Name)...)
		}
		out = append(out, pool.meshSlices(f.Name)...)
	}
	for _, pool := range f.Network {
		out = append(out, pool.slices(f.Name)...)
	}
	for i := range f.Copied.Slices {
		slice := f.Copied.Slices[i].DeepCopy()
		slice.Labels = withFleet(slice.Labels, f.Name)
		out = append(out, *slice)
	}
	return out
}

func (p NodePool) slices(fleetName string, i int) []resourcev1.ResourceSlice {
	var out []resourcev1.ResourceSlice
	node := p.nodeName(i)
	for _, driver := range drivers(p.Devices) {
		spec := resourcev1.ResourceSliceSpec{Driver: driver, NodeName: &node}
		spec.Pool.Name = node
		devices := expand(p.Devices, driver, place{node: node, rack: p.rackName(i)})
		out = append(out, split(fleetName, spec, devices, resourcev1.ResourceSliceMaxDevices)...)
	}
	return out
}

func (p NetworkPool) slices(fleetName string) []resourcev1.ResourceSlice {
	var out []resourcev1.ResourceSlice
	for _, driver := range drivers(p.Devices) {
		spec := resourcev1.ResourceSliceSpec{Driver: driver}
		spec.Pool.Name = p.Name
		if len(p.Nodes) == 0 {
			all := true
			spec.AllNodes = &all
		} else {
			spec.NodeSelector = selector(p.Nodes)
		}
		devices := expand(p.Devices, driver, place{unit: p.unit})
		out = append(out, split(fleetName, spec, devices, resourcev1.ResourceSliceMaxDevices)...)
	}
	return out
}

// Drivers returns the distinct drivers of all devices, in the order of the description.
func (f Fleet) Drivers() []string {
	var out []string
	add := func(sets []DeviceSet) {
		for _, driver := range drivers(sets) {
			if !slices.Contains(out, driver) {
				out = append(out, driver)
			}
		}
	}
	for _, p := range f.Pools {
		add(p.Devices)
		for _, unit := range p.Units {
			add(unit.Devices)
			if unit.Mesh != nil {
				add([]DeviceSet{{Driver: unit.Mesh.Driver}})
			}
		}
	}
	for _, p := range f.Network {
		add(p.Devices)
	}
	return out
}

// drivers returns the distinct drivers of the sets, in order.
func drivers(sets []DeviceSet) []string {
	var out []string
	for _, set := range sets {
		if !slices.Contains(out, set.Driver) {
			out = append(out, set.Driver)
		}
	}
	return out
}

func selector(labels map[string]string) *corev1.NodeSelector {
	var term corev1.NodeSelectorTerm
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		term.MatchExpressions = append(term.MatchExpressions, corev1.NodeSelectorRequirement{
			Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{labels[key]},
		})
	}
	return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term}}
}

// expand returns the devices of one driver at one place.
func expand(sets []DeviceSet, driver string, at place) []resourcev1.Device {
	var out []resourcev1.Device
	for _, set := range sets {
		if set.Driver != driver {
			continue
		}
		for i := range set.Count {
			at.index = set.First + i
			out = append(out, set.device(at))
		}
	}
	return out
}

func (s DeviceSet) device(at place) resourcev1.Device {
	device := resourcev1.Device{Name: at.fill(s.Name)}
	for name, attribute := range s.Attributes {
		value, err := attribute.valueAt(at)
		if err != nil {
			// Parse has validated it
			panic(fmt.Sprintf("fleet: attribute %s of device %s: %v", name, device.Name, err))
		}
		if device.Attributes == nil {
			device.Attributes = map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{}
		}
		device.Attributes[name] = value
	}
	for name, quantity := range s.Capacity {
		if device.Capacity == nil {
			device.Capacity = map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{}
		}
		device.Capacity[name] = resourcev1.DeviceCapacity{Value: quantity.DeepCopy()}
	}
	return device
}

// split divides the devices of a pool into slices of at most this many.
func split(
	fleetName string, spec resourcev1.ResourceSliceSpec, devices []resourcev1.Device, most int,
) []resourcev1.ResourceSlice {
	chunks := slices.Collect(slices.Chunk(devices, most))
	out := make([]resourcev1.ResourceSlice, 0, len(chunks))
	for i, chunk := range chunks {
		s := spec
		s.Pool.Generation = 1
		s.Pool.ResourceSliceCount = int64(len(chunks))
		s.Devices = chunk
		out = append(out, resourcev1.ResourceSlice{
			ObjectMeta: metav1.ObjectMeta{
				Name:   fmt.Sprintf("%s-%s-%d", spec.Pool.Name, spec.Driver, i),
				Labels: map[string]string{LabelFleet: fleetName},
			},
			Spec: s,
		})
	}
	return out
}
