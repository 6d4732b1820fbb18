package allocators

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// drawPool publishes a pool in one to three slices, some of which may be for other nodes.
func (g *generator) drawPool(name string) {
	pool := resourcev1.ResourcePool{Name: name, Generation: int64(1 + g.IntN(2)), ResourceSliceCount: int64(1 + g.IntN(3))}
	driver := pick(g, "gpu.example.com", "gpu.example.com", "nic.example.com")
	var list []*resourcev1.ResourceSlice
	for s := range pool.ResourceSliceCount {
		slice := &resourcev1.ResourceSlice{}
		slice.Name = fmt.Sprintf("%s-%d", name, s)
		slice.Spec.Driver = driver
		if g.Has(SkipNode) && g.chance(1, 2) {
			slice.Spec.SkipNodeOperations = []resourcev1.SkipNodeOperation{"NodePrepareResources"}
		}
		g.drawScope(&slice.Spec)
		for range 1 + g.IntN(3) {
			if g.published < maxPublished {
				slice.Spec.Devices = append(slice.Spec.Devices, g.drawDevice(&slice.Spec))
			}
		}
		list = append(list, slice)
	}
	if g.Has(Counters) {
		pool.ResourceSliceCount++
		list = append(list, g.drawCounters(name, driver))
	}
	if g.Has(Twice) && g.chance(1, 2) {
		first, last := list[0].Spec.Devices, list[pool.ResourceSliceCount-1].Spec.Devices
		if len(first) > 0 && len(last) > 0 {
			last[len(last)-1].Name = first[0].Name
		}
	}
	g.publish(list, pool)
}

// publish adds the slices of a pool, possibly with one missing or one of an older generation.
func (g *generator) publish(list []*resourcev1.ResourceSlice, pool resourcev1.ResourcePool) {
	missing := -1
	if g.Has(HalfPools) && g.chance(1, 3) {
		missing = g.IntN(len(list))
	}
	for s, slice := range list {
		slice.Spec.Pool = pool
		if s != missing {
			g.Slices = append(g.Slices, slice)
		}
	}
	if g.Has(OldSlices) && g.chance(1, 2) {
		old := pick(g, list...).DeepCopy()
		old.Name += "-old"
		old.Spec.Pool.Generation--
		old.Spec.Pool.ResourceSliceCount = int64(1 + g.IntN(2))
		for i := range old.Spec.Devices {
			old.Spec.Devices[i].ConsumesCounters = nil
		}
		g.Slices = append(g.Slices, old)
	}
}

func (g *generator) drawScope(spec *resourcev1.ResourceSliceSpec) {
	yes := true
	switch g.IntN(8) {
	case 0:
		spec.AllNodes = &yes
	case 1:
		spec.NodeSelector = rackSelector(pick(g, "a", "a", "b"))
	case 2:
		spec.PerDeviceNodeSelection = &yes
	default:
		spec.NodeName = new(pick(g, "n", "n", "n", "n", "other"))
	}
}

func rackSelector(rack string) *corev1.NodeSelector {
	return &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: "rack", Operator: corev1.NodeSelectorOpIn, Values: []string{rack}},
		}}},
	}
}

func (g *generator) drawDevice(spec *resourcev1.ResourceSliceSpec) resourcev1.Device {
	yes := true
	device := resourcev1.Device{Name: fmt.Sprint("d", g.published), Attributes: g.drawAttributes(spec.Driver)}
	g.published++
	if spec.PerDeviceNodeSelection != nil {
		switch g.IntN(5) {
		case 0:
			device.AllNodes = &yes
		case 1:
			device.NodeSelector = rackSelector(pick(g, "a", "a", "b"))
		default:
			device.NodeName = new(pick(g, "n", "n", "n", "n", "other"))
		}
	}
	if g.Has(Taints) && g.chance(1, 2) {
		device.Taints = append(device.Taints, g.drawTaint("t"))
		if g.chance(1, 4) {
			device.Taints = append(device.Taints, g.drawTaint("u"))
		}
	}
	if g.Has(Counters) && g.chance(3, 4) {
		device.ConsumesCounters = g.drawConsumption()
	}
	if g.Has(Shares) {
		g.drawCapacity(&device)
	}
	if g.Has(Binding) && g.chance(1, 2) {
		device.BindingConditions, device.BindingFailureConditions = []string{"ready"}, []string{"failed"}
		if g.chance(1, 2) {
			device.BindsToNode = &yes
		}
	}
	return device
}

func (g *generator) drawTaint(key string) resourcev1.DeviceTaint {
	effect := pick(
		g,
		resourcev1.DeviceTaintEffectNone,
		resourcev1.DeviceTaintEffectNoSchedule,
		resourcev1.DeviceTaintEffectNoSchedule,
		resourcev1.DeviceTaintEffectNoExecute,
	)
	return resourcev1.DeviceTaint{Key: key, Value: "v", Effect: effect}
}

// drawAttributes returns a device's unique id and letters, and in most cases x and y, of several
// types.
func (g *generator) drawAttributes(driver string) map[resourcev1.QualifiedName]resourcev1.DeviceAttribute {
	id, letters := int64(g.published), pick(g, "", "a", "b", "ab", "ab")
	list := map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{
		"allot.dev/id": {IntValue: &id}, "allot.dev/letters": {StringValue: &letters},
	}
	if g.chance(5, 6) {
		list["allot.dev/x"] = g.drawValue()
	}
	switch {
	case g.chance(1, 2):
		list["gpu.example.com/y"] = g.drawValue()
	case driver == "gpu.example.com" || g.chance(1, 4):
		list["y"] = g.drawValue() // for the gpu driver, that is the same attribute
	}
	return list
}

func (g *generator) drawValue() resourcev1.DeviceAttribute {
	if g.Has(Lists) && g.chance(1, 3) {
		return pick(
			g,
			resourcev1.DeviceAttribute{IntValues: []int64{1, 2}},
			resourcev1.DeviceAttribute{IntValues: []int64{2, 3}},
			resourcev1.DeviceAttribute{
				StringValues: []string{"1", "2"},
			},
			resourcev1.DeviceAttribute{VersionValues: []string{"1.0.0", "2.0.0"}},
			resourcev1.DeviceAttribute{BoolValues: []bool{true}},
		)
	}
	text, yes := "1", true
	version := "1.0.0"
	return pick(
		g,
		resourcev1.DeviceAttribute{IntValue: new(int64(1))},
		resourcev1.DeviceAttribute{IntValue: new(int64(1))},
		resourcev1.DeviceAttribute{IntValue: new(int64(2))},
		resourcev1.DeviceAttribute{IntValue: new(int64(2))},
		resourcev1.DeviceAttribute{IntValue: new(int64(3))},
		resourcev1.DeviceAttribute{
			StringValue: &text,
		},
		resourcev1.DeviceAttribute{BoolValue: &yes},
		resourcev1.DeviceAttribute{VersionValue: &version},
	)
}

// drawCounters returns a slice with two counter sets: s with counters c and d, and t with counter
// c.
func (g *generator) drawCounters(pool, driver string) *resourcev1.ResourceSlice {
	yes := true
	slice := &resourcev1.ResourceSlice{}
	slice.Name, slice.Spec.Driver = pool+"-counters", driver
	if g.chance(1, 2) {
		slice.Spec.AllNodes = &yes
	} else {
		slice.Spec.NodeName = new(pick(g, "n", "other"))
	}
	slice.Spec.SharedCounters = []resourcev1.CounterSet{
		{
			Name:     "s",
			Counters: map[string]resourcev1.Counter{"c": {Value: *half(2 + g.IntN(6))}, "d": {Value: *half(1 + g.IntN(3))}},
		},
		{Name: "t", Counters: map[string]resourcev1.Counter{"c": {Value: *half(1 + g.IntN(4))}}},
	}
	if g.Has(Huge) && g.chance(1, 3) {
		slice.Spec.SharedCounters[0].Counters["c"] = resourcev1.Counter{Value: *g.drawHuge()}
	}
	return slice
}

func (g *generator) drawConsumption() []resourcev1.DeviceCounterConsumption {
	one := func(set string, counters map[string]resourcev1.Counter) resourcev1.DeviceCounterConsumption {
		c := resourcev1.DeviceCounterConsumption{CounterSet: set, Counters: counters}
		if g.Has(Groups) {
			c.CompatibilityGroups = pick(g, nil, []string{"1"}, []string{"2"}, []string{"1", "2"})
		}
		return c
	}
	var list []resourcev1.DeviceCounterConsumption
	if g.chance(3, 4) {
		list = append(list, one("s", map[string]resourcev1.Counter{"c": {Value: *half(1 + g.IntN(4))}}))
		if g.chance(1, 2) {
			list[0].Counters["d"] = resourcev1.Counter{Value: *half(g.IntN(2))}
		}
	}
	if g.Has(Huge) && len(list) > 0 && g.chance(1, 4) {
		list[0].Counters["c"] = resourcev1.Counter{Value: *g.drawHuge()}
	}
	if g.Has(Unknown) && len(list) > 0 && g.chance(1, 6) {
		list[0].Counters["other"] = resourcev1.Counter{Value: *half(1)}
	}
	if len(list) == 0 || g.chance(1, 3) {
		list = append(list, one("t", map[string]resourcev1.Counter{"c": {Value: *half(1 + g.IntN(2))}}))
	}
	return list
}

func (g *generator) drawCapacity(device *resourcev1.Device) {
	if g.chance(2, 3) {
		yes := true
		device.AllowMultipleAllocations = &yes
	}
	if g.chance(1, 6) {
		return
	}
	capacity := resourcev1.DeviceCapacity{Value: *quantity(1 + g.IntN(6))}
	if device.AllowMultipleAllocations != nil {
		switch g.IntN(4) {
		case 0:
			capacity.RequestPolicy = &resourcev1.CapacityRequestPolicy{
				Default: quantity(1),
				ValidRange: &resourcev1.CapacityRequestPolicyRange{
					Min:  quantity(1),
					Max:  quantity(3),
					Step: quantity(1 + g.IntN(2)),
				},
			}
		case 1:
			capacity.RequestPolicy = &resourcev1.CapacityRequestPolicy{
				Default:     quantity(1),
				ValidValues: []resource.Quantity{*quantity(1), *quantity(2)},
			}
		case 2:
			capacity.RequestPolicy = &resourcev1.CapacityRequestPolicy{
				Default:    half(2),
				ValidRange: &resourcev1.CapacityRequestPolicyRange{Min: half(1), Max: quantity(4), Step: half(1 + g.IntN(3))},
			}
		}
	}
	device.Capacity = map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"m": capacity}
}
