package fleet

import (
	"errors"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Parse reads the description of a fleet; docs/fleet.md describes the format. It returns all errors
// together, each with line and path, such as "line 12: pools[0].devices[1].attributes.size: \"x\"
// is no int".
func Parse(data []byte) (Fleet, error) {
	var problems []error
	doc, err := root(data, &problems)
	if err != nil {
		return Fleet{}, err
	}
	f := Fleet{Name: DefaultName}
	doc.fields(map[string]func(value){
		"name":    func(v value) { f.Name = v.dnsLabel() },
		"pools":   func(v value) { f.Pools = readAll(v, readNodePool) },
		"network": func(v value) { f.Network = readAll(v, readNetworkPool) },
	})
	if len(problems) == 0 {
		f.check(doc)
	}
	if len(problems) > 0 {
		return Fleet{}, errors.Join(problems...)
	}
	return f, nil
}

func readAll[T any](v value, read func(value) T) []T {
	var out []T
	for _, item := range v.items() {
		out = append(out, read(item))
	}
	return out
}

func readNodePool(v value) NodePool {
	p := NodePool{Count: 1, Allocatable: defaultAllocatable()}
	var racks, units value
	v.fields(map[string]func(value){
		"name":        func(v value) { p.Name = v.poolName() },
		"count":       func(v value) { p.Count = v.number(0, MaxNodes) },
		"racks":       func(v value) { racks, p.Racks = v, readRacks(v) },
		"units":       func(v value) { units, p.Units = v, readAll(v, readUnit) },
		"labels":      func(v value) { p.Labels = readLabels(v) },
		"taints":      func(v value) { p.Taints = readAll(v, readTaint) },
		"allocatable": func(v value) { readResources(v, p.Allocatable) },
		"devices":     func(v value) { p.Devices = readAll(v, readDeviceSet) },
	})
	if p.Name == "" {
		v.complain("needs a name")
	}
	if p.Racks.Count > max(p.Count, 1) {
		racks.complain("has %d racks for %d nodes", p.Racks.Count, p.Count)
	}
	if units.node != nil {
		p.checkUnits(units)
	}
	if p.Racks.Prefix == "" {
		p.Racks.Prefix = p.Name + "-rack"
	}
	return p
}

func readRacks(v value) Racks {
	r := Racks{Count: 1, Label: "allot.dev/rack"}
	v.fields(map[string]func(value){
		"count":  func(v value) { r.Count = v.number(1, MaxNodes) },
		"label":  func(v value) { r.Label = v.labelKey(v.text()) },
		"prefix": func(v value) { r.Prefix = v.dnsLabel() },
	})
	return r
}

func readLabels(v value) map[string]string {
	out := map[string]string{}
	for _, e := range v.entries() {
		out[e.labelKey(e.key)] = e.labelValue()
	}
	return out
}

func readTaint(v value) corev1.Taint {
	var t corev1.Taint
	v.fields(map[string]func(value){
		"key":    func(v value) { t.Key = v.labelKey(v.text()) },
		"value":  func(v value) { t.Value = v.labelValue() },
		"effect": func(v value) { t.Effect = readEffect(v) },
	})
	if t.Key == "" || t.Effect == "" {
		v.complain("needs a key and an effect")
	}
	return t
}

func readEffect(v value) corev1.TaintEffect {
	switch effect := corev1.TaintEffect(v.text()); effect {
	case corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute:
		return effect
	default:
		v.complain("must be NoSchedule, PreferNoSchedule or NoExecute, is %q", effect)
		return corev1.TaintEffectNoSchedule
	}
}

func readResources(v value, into corev1.ResourceList) {
	for _, e := range v.entries() {
		into[corev1.ResourceName(e.resourceName())] = e.quantity()
	}
}

func readNetworkPool(v value) NetworkPool {
	var p NetworkPool
	v.fields(map[string]func(value){
		"name":    func(v value) { p.Name = v.dnsLabel() },
		"nodes":   func(v value) { p.Nodes = readLabels(v) },
		"devices": func(v value) { p.Devices = readAll(v, readDeviceSet) },
	})
	if p.Name == "" {
		v.complain("needs a name")
	}
	return p
}

func readDeviceSet(v value) DeviceSet {
	s := DeviceSet{Driver: DefaultDriver, Name: "dev-{index}", Count: 1}
	attributes := value{}
	v.fields(map[string]func(value){
		"driver":     func(v value) { s.Driver = v.driverName() },
		"name":       func(v value) { s.Name = v.deviceName() },
		"count":      func(v value) { s.Count = v.number(0, MaxDevices) },
		"first":      func(v value) { s.First = v.number(0, MaxDevices) },
		"attributes": func(v value) { attributes = v },
		"capacity":   func(v value) { s.Capacity = readCapacity(v) },
	})
	if attributes.node != nil {
		s.Attributes = readAttributes(attributes, place{index: s.First + max(s.Count-1, 0)})
	}
	if n := len(s.Attributes) + len(s.Capacity); n > resourcev1.ResourceSliceMaxAttributesAndCapacitiesPerDevice {
		v.complain("has %d attributes and capacities, at most %d are allowed", n,
			resourcev1.ResourceSliceMaxAttributesAndCapacitiesPerDevice)
	}
	return s
}

func readCapacity(v value) map[resourcev1.QualifiedName]resource.Quantity {
	out := map[resourcev1.QualifiedName]resource.Quantity{}
	for _, e := range v.entries() {
		out[e.deviceKey()] = e.quantity()
	}
	return out
}

// readAttributes validates each value on the last device of the set, for which placeholders are
// longest.
func readAttributes(v value, last place) map[resourcev1.QualifiedName]Attribute {
	out := map[resourcev1.QualifiedName]Attribute{}
	for _, e := range v.entries() {
		before := len(*e.problems)
		a := readAttribute(e.value)
		if len(*e.problems) > before {
			continue
		}
		if _, err := a.valueAt(last); err != nil {
			e.complain("%v", err)
		}
		out[e.deviceKey()] = a
	}
	return out
}

// readAttribute derives the type from the YAML type of a scalar or list, or from the key, as in
// {version: 1.2.3}.
func readAttribute(v value) Attribute {
	if v.node.Kind != yaml.MappingNode {
		return readValues(v, "")
	}
	entries := v.entries()
	if len(entries) != 1 {
		v.complain("must be a value, or one of {string: …}, {int: …}, {bool: …}, {version: …}")
		return Attribute{}
	}
	switch e := entries[0]; e.key {
	case TypeString, TypeInt, TypeBool, TypeVersion:
		return readValues(e.value, e.key)
	default:
		e.complain("unknown type; there are string, int, bool and version")
		return Attribute{}
	}
}

func readValues(v value, typ string) Attribute {
	items := []value{v}
	a := Attribute{Type: typ, List: v.node.Kind == yaml.SequenceNode}
	if a.List {
		items = v.items()
	}
	if len(items) == 0 {
		v.complain("must not be an empty list")
	}
	for _, item := range items {
		if typ == "" && item.node.Tag == "!!float" {
			item.complain("must not be a fraction; as a text it is %q", item.node.Value)
			continue
		}
		a.Values = append(a.Values, item.template())
		if a.Type == "" {
			a.Type = scalarType(item.node.Tag)
		}
		if typ == "" && scalarType(item.node.Tag) != a.Type {
			item.complain("is of another type than the items before it (%s)", a.Type)
		}
	}
	return a
}

func scalarType(tag string) string {
	switch tag {
	case "!!int":
		return TypeInt
	case "!!bool":
		return TypeBool
	default:
		return TypeString
	}
}
