package scenario

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/testkit/line"
)

// node handles node NAME [cpu=] [memory=] [pods=] [label=K=V]… [taint=K=V:EFFECT]… [unschedulable];
// other arguments are extended resources.
func (s *Scenario) node(l *line.Line) error {
	node := &corev1.Node{ObjectMeta: s.meta("node", l.Name())}
	node.Labels = map[string]string{corev1.LabelHostname: l.Name()}
	node.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(
			"8",
		), corev1.ResourceMemory: resource.MustParse("32Gi"), corev1.ResourcePods: resource.MustParse("110"),
	}
	node.Status.DeclaredFeatures = []string{model.OptionalNodeOperations}
	for _, flag := range l.Names() {
		if err := nodeArg(node, flag, ""); err != nil {
			return err
		}
	}
	for _, name := range l.Keys() {
		for _, value := range l.All(name) {
			if err := nodeArg(node, name, value); err != nil {
				return err
			}
		}
	}
	s.queue.Wake(s.state.Nodes.Put(model.NodeFrom(node)))
	return nil
}

func nodeArg(node *corev1.Node, name, value string) error {
	switch name {
	case "label":
		k, v, _ := strings.Cut(value, "=")
		node.Labels[k] = v
	case "taint":
		rest, effect, _ := strings.Cut(value, ":")
		k, v, _ := strings.Cut(rest, "=")
		node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: k, Value: v, Effect: corev1.TaintEffect(effect)})
	case "older": // the node declares no features
		node.Status.DeclaredFeatures = nil
	case "unschedulable":
		node.Spec.Unschedulable = true
	case "image":
		at := strings.LastIndex(value, "=")
		size, err := resource.ParseQuantity(value[at+1:])
		if at < 0 || err != nil {
			return fmt.Errorf("image %s is not NAME=SIZE", value)
		}
		node.Status.Images = append(node.Status.Images,
			corev1.ContainerImage{Names: strings.Split(value[:at], ","), SizeBytes: size.Value()})
	default:
		quantity, err := resource.ParseQuantity(value)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		node.Status.Allocatable[corev1.ResourceName(name)] = quantity
	}
	return nil
}

// class handles class NAME [selector=CEL]… [config=DRIVER] [extended=RESOURCE].
func (s *Scenario) class(l *line.Line) error {
	class := &resourcev1.DeviceClass{ObjectMeta: s.meta("class", l.Name())}
	class.Spec.Selectors = selectors(l.All("selector"))
	if l.Has("extended") {
		class.Spec.ExtendedResourceName = ptr(l.Text("extended", ""))
	}
	for _, driver := range l.All("config") {
		class.Spec.Config = append(class.Spec.Config,
			resourcev1.DeviceClassConfiguration{DeviceConfiguration: opaque(driver)})
	}
	s.queue.Wake(s.state.Classes.Put(model.ClassFrom(class)))
	return nil
}

func opaque(driver string) resourcev1.DeviceConfiguration {
	return resourcev1.DeviceConfiguration{Opaque: &resourcev1.OpaqueDeviceConfiguration{Driver: driver}}
}

func selectors(expressions []string) []resourcev1.DeviceSelector {
	var list []resourcev1.DeviceSelector
	for _, expression := range expressions {
		list = append(list, resourcev1.DeviceSelector{CEL: &resourcev1.CELDeviceSelector{Expression: expression}})
	}
	return list
}

// slice handles slice NAME driver= [pool=] [node=] [all] [match=LABEL=VALUE] [generation=]
// [slices=] [skip] [counters=SET/COUNTER=N/…]… [devices=N] [device=NAME,ATTRIBUTE=VALUE,…]….
//
// The default pool name is that of the node, or of the slice. Modifiers of a device: @node=N,
// @match=K=V and @all select its nodes; @taint=K[=V]:EFFECT adds a taint; @takes=SET/COUNTER=N/…
// consumes shared counters, and @groups=GROUP/… after it lists the compatibility groups;
// @binding=CONDITION must become true before pods are bound and @failure=CONDITION must not; @binds
// restricts an allocation to its node; @draws=RESOURCE/device=N/pod=N/… uses resources of the node;
// @shared permits multiple allocations; @capacity=NAME=N/POLICY is a capacity. Other names are
// attributes.
func (s *Scenario) slice(l *line.Line) error {
	slice := &resourcev1.ResourceSlice{ObjectMeta: s.meta("slice", l.Name())}
	spec := &slice.Spec
	spec.Driver = l.Text("driver", "")
	spec.Pool.Name = l.Text("pool", l.Text("node", l.Name()))
	spec.Pool.Generation = l.Number("generation", 1)
	spec.Pool.ResourceSliceCount = l.Number("slices", 1)
	if l.Has("node") {
		spec.NodeName = ptr(l.Text("node", ""))
	}
	if l.Has("match") {
		spec.NodeSelector = labelSelector(l.Text("match", ""))
	}
	if l.Has("all") {
		spec.AllNodes = ptr(true)
	}
	if l.Has("skip") {
		spec.SkipNodeOperations = []resourcev1.SkipNodeOperation{resourcev1.SkipNodeOperationAll}
	}
	for _, text := range l.All("counters") {
		set, rest, _ := strings.Cut(text, "/")
		spec.SharedCounters = append(spec.SharedCounters, resourcev1.CounterSet{Name: set, Counters: counters(rest)})
	}
	for i := range l.Number("devices", 0) {
		spec.Devices = append(spec.Devices, resourcev1.Device{Name: "gpu-" + strconv.FormatInt(i, 10)})
	}
	for _, text := range l.All("device") {
		spec.Devices = append(spec.Devices, device(spec, text))
	}
	s.putSlice(slice)
	return nil
}

// taintRule handles rule NAME [any] [driver=] [pool=] [device=] taint=K[=V]:EFFECT, a
// DeviceTaintRule. Without any of the first four arguments it has no selector.
func (s *Scenario) taintRule(l *line.Line) error {
	rule := &resourcev1.DeviceTaintRule{ObjectMeta: s.meta("rule", l.Name())}
	rule.Spec.Taint = taint(l.Text("taint", ""))
	if l.Has("any") || l.Has("driver") || l.Has("pool") || l.Has("device") {
		rule.Spec.DeviceSelector = &resourcev1.DeviceTaintSelector{}
	}
	for arg, to := range map[string]func(*string){
		"driver": func(name *string) { rule.Spec.DeviceSelector.Driver = name },
		"pool":   func(name *string) { rule.Spec.DeviceSelector.Pool = name },
		"device": func(name *string) { rule.Spec.DeviceSelector.Device = name },
	} {
		if l.Has(arg) {
			to(ptr(l.Text(arg, "")))
		}
	}
	s.queue.Wake(s.state.TaintRules.Put(model.TaintRuleFrom(rule)))
	return nil
}

// taint parses K[=V]:EFFECT.
func taint(text string) resourcev1.DeviceTaint {
	rest, effect, _ := strings.Cut(text, ":")
	k, v, _ := strings.Cut(rest, "=")
	return resourcev1.DeviceTaint{Key: k, Value: v, Effect: resourcev1.DeviceTaintEffect(effect)}
}

// device parses NAME, followed by attributes and properties that begin with @.
func device(spec *resourcev1.ResourceSliceSpec, text string) resourcev1.Device {
	parts := strings.Split(text, ",")
	d := resourcev1.Device{
		Name:                     parts[0],
		Attributes:               map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{},
		Capacity:                 map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{},
		NodeAllocatableResources: map[corev1.ResourceName]resourcev1.NodeAllocatableResource{},
	}
	for _, part := range parts[1:] {
		name, value, _ := strings.Cut(part, "=")
		if !strings.HasPrefix(name, "@") {
			d.Attributes[resourcev1.QualifiedName(name)] = attribute(value)
			continue
		}
		if isReach := setReach(&d, name, value); isReach {
			spec.PerDeviceNodeSelection = ptr(true)
			continue
		}
		setProperty(&d, name, value)
	}
	return d
}

// setReach sets from which nodes a device can be used, and reports whether the property is one of
// those.
func setReach(d *resourcev1.Device, property, value string) bool {
	switch property {
	case "@node":
		d.NodeName = ptr(value)
	case "@match":
		d.NodeSelector = labelSelector(value)
	case "@all":
		d.AllNodes = ptr(true)
	default:
		return false
	}
	return true
}

// setProperty sets how a device can be allocated.
func setProperty(d *resourcev1.Device, property, value string) {
	switch property {
	case "@taint":
		d.Taints = append(d.Taints, taint(value))
	case "@shared":
		d.AllowMultipleAllocations = ptr(true)
	case "@capacity":
		name, has := capacity(value)
		d.Capacity[name] = has
	case "@binding":
		d.BindingConditions = append(d.BindingConditions, value)
	case "@failure":
		d.BindingFailureConditions = append(d.BindingFailureConditions, value)
	case "@binds":
		d.BindsToNode = ptr(true)
	case "@takes":
		d.ConsumesCounters = append(d.ConsumesCounters, takes(value))
	case "@draws":
		name, draws := nodeResource(value)
		d.NodeAllocatableResources[name] = draws
	case "@groups":
		last := &d.ConsumesCounters[len(d.ConsumesCounters)-1]
		last.CompatibilityGroups = strings.Split(value, "/")
	default:
		panic("device " + d.Name + ": unknown property " + property)
	}
}

// nodeResource parses RESOURCE, followed by /device=N, /capacity=NAME*N, /pod=N and /container=N.
func nodeResource(text string) (corev1.ResourceName, resourcev1.NodeAllocatableResource) {
	name, rest, _ := strings.Cut(text, "/")
	var r resourcev1.NodeAllocatableResource
	for part := range strings.SplitSeq(rest, "/") {
		what, value, _ := strings.Cut(part, "=")
		capacity, times, _ := strings.Cut(value, "*")
		if what == "device" || what == "capacity" {
			r.Mapping = &resourcev1.NodeAllocatableMapping{}
		} else if r.Overhead == nil {
			r.Overhead = &resourcev1.NodeAllocatableOverhead{}
		}
		switch what {
		case "device":
			r.Mapping.DeviceMultiplier = ptr(resource.MustParse(value))
		case "capacity":
			r.Mapping.CapacityKey, r.Mapping.CapacityMultiplier = ptr(resourcev1.QualifiedName(capacity)), ptr(
				resource.MustParse(times),
			)
		case "pod":
			r.Overhead.PerPod = ptr(resource.MustParse(value))
		case "container":
			r.Overhead.PerContainer = ptr(resource.MustParse(value))
		}
	}
	return corev1.ResourceName(name), r
}

// capacity parses NAME=N, followed by /default=, /min=, /max=, /step= and /value= for a request
// policy.
func capacity(text string) (resourcev1.QualifiedName, resourcev1.DeviceCapacity) {
	text, policy, hasPolicy := strings.Cut(text, "/")
	name, value, _ := strings.Cut(text, "=")
	c := resourcev1.DeviceCapacity{Value: resource.MustParse(value)}
	if !hasPolicy {
		return resourcev1.QualifiedName(name), c
	}
	c.RequestPolicy = &resourcev1.CapacityRequestPolicy{}
	span := &resourcev1.CapacityRequestPolicyRange{}
	for part := range strings.SplitSeq(policy, "/") {
		what, value, _ := strings.Cut(part, "=")
		amount := resource.MustParse(value)
		switch what {
		case "default":
			c.RequestPolicy.Default = &amount
		case "value":
			c.RequestPolicy.ValidValues = append(c.RequestPolicy.ValidValues, amount)
		case "min":
			span.Min, c.RequestPolicy.ValidRange = &amount, span
		case "max":
			span.Max = &amount
		case "step":
			span.Step = &amount
		}
	}
	return resourcev1.QualifiedName(name), c
}

func takes(text string) resourcev1.DeviceCounterConsumption {
	set, rest, _ := strings.Cut(text, "/")
	return resourcev1.DeviceCounterConsumption{CounterSet: set, Counters: counters(rest)}
}

// counters parses COUNTER=N, separated by slashes.
func counters(text string) map[string]resourcev1.Counter {
	all := map[string]resourcev1.Counter{}
	for text := range strings.SplitSeq(text, "/") {
		name, value, _ := strings.Cut(text, "=")
		all[name] = resourcev1.Counter{Value: resource.MustParse(value)}
	}
	return all
}

// attribute parses a string, or TYPE/VALUE, or TYPEs/VALUE/VALUE for a list.
func attribute(text string) resourcev1.DeviceAttribute {
	kind, value, _ := strings.Cut(text, "/")
	list := strings.Split(value, "/")
	switch kind {
	case "int":
		return resourcev1.DeviceAttribute{IntValue: ptr(toInt(value))}
	case "ints":
		var numbers []int64
		for _, value := range list {
			numbers = append(numbers, toInt(value))
		}
		return resourcev1.DeviceAttribute{IntValues: numbers}
	case "bool":
		return resourcev1.DeviceAttribute{BoolValue: ptr(value == "true")}
	case "version":
		return resourcev1.DeviceAttribute{VersionValue: ptr(value)}
	case "strings":
		return resourcev1.DeviceAttribute{StringValues: list}
	}
	return resourcev1.DeviceAttribute{StringValue: ptr(text)}
}

// toInt parses a number of a scenario; text that is not a number becomes 0 and shows in the output.
func toInt(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

func labelSelector(text string) *corev1.NodeSelector {
	k, v, _ := strings.Cut(text, "=")
	return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: k, Operator: corev1.NodeSelectorOpIn, Values: []string{v}}},
	}}}
}

func ptr[T any](v T) *T { return &v }

func controller(kind, name string, meta metav1.ObjectMeta) []metav1.OwnerReference {
	return []metav1.OwnerReference{{Kind: kind, Name: name, UID: meta.UID, Controller: ptr(true)}}
}
