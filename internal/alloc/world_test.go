package alloc_test

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/allot-dev/allot/internal/model"
)

const driver = "gpu.example.com"

// world is a node with devices, and claims. It is generated together with the input of the
// reference, which does not use selectors, quantities and pools. test/peer/allocators generates API
// objects instead, which both programs read independently.
type world struct {
	state      *model.State
	node       *model.NodeInfo
	claims     []*model.Claim
	slices     []*model.Slice
	devices    []model.DeviceID
	reached    map[model.DeviceID]bool // reachable from the node, in a usable pool
	held       map[model.DeviceID]bool
	incomplete bool                        // the node can reach a pool that is incomplete
	letters    map[model.DeviceID][]string // letters, which selectors test
	scope      map[model.DeviceID]string
	taints     map[model.DeviceID][]resourcev1.DeviceTaint // t=v, from the slice and from rules
	values     map[model.DeviceID][]string                 // of attribute x
	usage      map[model.DeviceID][2]int                   // from counters c and d of the pool
	groups     map[model.DeviceID][2]string                // compatibility groups as letters, by counter
	total      map[string]int                              // of the counters, by pool and name
	capacity   map[model.DeviceID]capacityState
	binding    map[model.DeviceID]binding
	features   features
}

// capacityState is the total and consumed capacity of a device, its request policy, and whether it
// can be shared.
type capacityState struct {
	total, taken, policy int
	shared               bool
}

// binding holds the binding conditions of a device, and whether it binds the claim to the node.
type binding struct {
	waits, binds bool
}

func (w *world) drawBinding(t *rapid.T, device model.DeviceID, d *model.Device) {
	b := binding{waits: rapid.Bool().Draw(t, "waits"), binds: rapid.Bool().Draw(t, "binds")}
	w.binding[device] = b
	d.BindsToNode = b.binds
	if b.waits {
		d.BindingConditions, d.BindingFailureConditions = []string{"w"}, []string{"f"}
	}
}

// consumedBy returns what an alternative consumes of the device's capacity. It returns false if the
// device has too little.
func (c capacityState) consumedBy(alternative *model.Alternative) (int, bool) {
	if c.total == 0 {
		return 0, alternative.Capacity == nil
	}
	asked := 0
	if alternative.Capacity != nil {
		amount := alternative.Capacity.Requests["m"]
		asked = int(amount.Value())
	}
	takes := [][]int{{c.total, 1, 2, 3}, {1, 1, 3, 3}, {1, 1, 2, 9}}[c.policy][asked]
	return takes, takes <= c.total
}

func deviceCapacity(h capacityState) map[resourcev1.QualifiedName]resourcev1.DeviceCapacity {
	n := func(n int) *resource.Quantity { return resource.NewQuantity(int64(n), resource.DecimalSI) }
	c := resourcev1.DeviceCapacity{Value: *n(h.total)}
	switch h.policy {
	case 1:
		c.RequestPolicy = &resourcev1.CapacityRequestPolicy{
			Default:    n(1),
			ValidRange: &resourcev1.CapacityRequestPolicyRange{Min: n(1), Max: n(3), Step: n(2)},
		}
	case 2:
		c.RequestPolicy = &resourcev1.CapacityRequestPolicy{Default: n(1), ValidValues: []resource.Quantity{*n(1), *n(2)}}
	}
	return map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"m": c}
}

func (w *world) drawCapacity(t *rapid.T, device model.DeviceID, d *model.Device) {
	h := capacityState{
		total:  rapid.IntRange(0, 5).Draw(t, "capacity"),
		policy: rapid.IntRange(0, 2).Draw(t, "policy"),
		shared: rapid.Bool().Draw(t, "shared"),
	}
	if h.total > 0 {
		d.Capacity = deviceCapacity(h)
	}
	if h.shared && w.held[device] {
		h.taken = rapid.IntRange(0, h.total).Draw(t, "taken")
	}
	d.AllowMultipleAllocations = h.shared
	w.capacity[device] = h
}

// features are the features that claims of a world use.
type features struct {
	all, admin, rules, alternatives, counters, capacity, binding, derived, groups, taintRules bool
	// most devices are available
	easy bool
}

func selector(letter string) string {
	return fmt.Sprintf(`device.attributes[%q].letters.contains(%q)`, driver, letter)
}

func drawWorld(t *rapid.T) *world {
	w := &world{
		state: model.NewState(), reached: map[model.DeviceID]bool{}, held: map[model.DeviceID]bool{},
		letters: map[model.DeviceID][]string{},
		scope:   map[model.DeviceID]string{}, taints: map[model.DeviceID][]resourcev1.DeviceTaint{},
		values: map[model.DeviceID][]string{},
		usage:  map[model.DeviceID][2]int{}, total: map[string]int{}, capacity: map[model.DeviceID]capacityState{},
		binding: map[model.DeviceID]binding{},
		groups:  map[model.DeviceID][2]string{},
	}
	w.features = features{
		all: rapid.Bool().Draw(t, "all"), admin: rapid.IntRange(0, 3).Draw(t, "admin") == 0,
		rules: rapid.Bool().Draw(t, "rules"), alternatives: rapid.Bool().Draw(t, "alternatives"),
		derived:  rapid.IntRange(0, 2).Draw(t, "derived") == 0,
		counters: rapid.Bool().Draw(t, "counters"), binding: rapid.IntRange(0, 3).Draw(t, "binding") == 0,
	}
	w.features.easy = rapid.Bool().Draw(t, "easy")
	w.features.taintRules = rapid.IntRange(0, 3).Draw(t, "taint rules") == 0
	w.features.groups = w.features.counters && rapid.IntRange(0, 2).Draw(t, "groups") == 0
	w.features.capacity = rapid.IntRange(0, 2).Draw(t, "capacity") == 0
	w.state.Nodes.Put(
		&model.Node{Name: "n", Labels: map[string]string{"rack": "a"}, Allocatable: model.Resources{corev1.ResourcePods: 10}},
	)
	w.state.Classes.Put(&model.Class{Name: "class", Selectors: []string{fmt.Sprintf("device.driver == %q", driver)}})
	w.node, _ = w.state.Nodes.Get("n")
	var constraint *model.TaintRule
	late := false
	if w.features.taintRules {
		constraint, late = w.drawTaintRule(t), rapid.Bool().Draw(t, "late")
		if !late {
			w.state.TaintRules.Put(constraint)
		}
	}
	total := 0
	for p := range rapid.IntRange(1, 3).Draw(t, "pools") {
		w.drawPool(t, p, &total)
	}
	if late {
		w.state.TaintRules.Put(constraint)
	}
	if constraint != nil {
		w.taintBy(constraint)
	}
	for c := range rapid.SampledFrom([]int{1, 1, 1, 2}).Draw(t, "claims") {
		w.drawClaim(t, fmt.Sprint("c", c))
	}
	return w
}

func (w *world) drawClaim(t *rapid.T, name string) {
	claim := &model.Claim{Key: model.Key{Namespace: "ns", Name: name}}
	var names []string
	for r := range rapid.IntRange(1, 3).Draw(t, "requests") {
		request := model.Request{Name: fmt.Sprint("r", r)}
		names = append(names, request.Name)
		if w.features.alternatives && rapid.Bool().Draw(t, "first available") {
			for o := range rapid.IntRange(1, 2).Draw(t, "options") {
				alternative := w.drawOption(t, false)
				alternative.Name = fmt.Sprint("o", o)
				request.Alternatives = append(request.Alternatives, alternative)
				names = append(names, request.ResultName(alternative))
			}
		} else {
			request.Alternatives = []model.Alternative{w.drawOption(t, w.features.admin)}
		}
		claim.Requests = append(claim.Requests, request)
	}
	if w.features.rules {
		for range rapid.IntRange(0, 2).Draw(t, "rules") {
			claim.Constraints = append(claim.Constraints, drawRule(t, names))
		}
	}
	w.claims = append(w.claims, claim)
}

func (w *world) drawOption(t *rapid.T, admin bool) model.Alternative {
	alternative := model.Alternative{Class: "class", Count: rapid.Int64Range(1, 2).Draw(t, "count")}
	for _, letter := range rapid.SampledFrom([]string{"", "", "", "", "a", "b", "ab", "c"}).Draw(t, "wanted") {
		alternative.Selectors = append(alternative.Selectors, selector(string(letter)))
	}
	alternative.Tolerations = rapid.SampledFrom(tolerations).Draw(t, "tolerations")
	if w.features.all && rapid.IntRange(0, 2).Draw(t, "all") == 0 {
		alternative.All, alternative.Count = true, 0
	}
	if asked := rapid.Int64Range(0, 3).Draw(t, "capacity"); w.features.capacity && asked > 0 {
		alternative.Capacity = &resourcev1.CapacityRequirements{
			Requests: map[resourcev1.QualifiedName]resource.Quantity{"m": *resource.NewQuantity(asked, resource.DecimalSI)},
		}
	}
	if w.features.derived && w.features.rules && rapid.Bool().Draw(t, "derived") {
		expression := rapid.SampledFrom(derivations).Draw(t, "derivation")
		alternative.DerivedAttributes = []resourcev1.DeviceDerivedAttribute{{Name: driver + "/x", Expression: expression}}
	}
	alternative.AdminAccess = admin && rapid.Bool().Draw(t, "admin")
	return alternative
}

// derivations are expressions for attribute x.
var derivations = []string{
	fmt.Sprintf(`device.attributes[%q].letters.size()`,
		driver), `"1"`, fmt.Sprintf(`[1, device.attributes[%q].letters.size()]`, driver),
}

// valuesFor returns the values of attribute x as seen by an alternative.
func (w *world) valuesFor(alternative *model.Alternative, device model.DeviceID) []string {
	if len(alternative.DerivedAttributes) == 0 {
		return w.values[device]
	}
	size := fmt.Sprint("i", len(w.letters[device]))
	switch slices.Index(derivations, alternative.DerivedAttributes[0].Expression) {
	case 0:
		return []string{size}
	case 1:
		return []string{"s1"}
	}
	return slices.Compact([]string{"i1", size})
}

func drawRule(t *rapid.T, names []string) resourcev1.DeviceConstraint {
	name := resourcev1.FullyQualifiedName(driver + "/x")
	constraint := resourcev1.DeviceConstraint{MatchAttribute: &name}
	if rapid.Bool().Draw(t, "distinct") {
		constraint = resourcev1.DeviceConstraint{DistinctAttribute: &name}
	}
	if rapid.Bool().Draw(t, "some") {
		constraint.Requests = []string{rapid.SampledFrom(names).Draw(t, "covers"), rapid.SampledFrom(names).Draw(t, "covers")}
	}
	return constraint
}

var tolerations = [][]resourcev1.DeviceToleration{
	nil, nil, nil,
	{{Key: "t", Operator: resourcev1.DeviceTolerationOpExists}},
	{{Key: "t", Operator: resourcev1.DeviceTolerationOpEqual, Value: "v"}},
	{{Key: "t", Operator: resourcev1.DeviceTolerationOpEqual, Value: "w"}},
	{{Operator: resourcev1.DeviceTolerationOpExists, Effect: resourcev1.DeviceTaintEffectNoExecute}},
}

func drawTaint(t *rapid.T) []resourcev1.DeviceTaint {
	effect := rapid.SampledFrom(
		[]resourcev1.DeviceTaintEffect{"", "", "", "", "", "", "", "None", "NoSchedule", "NoExecute"},
	).Draw(t, "taint")
	if effect == "" {
		return nil
	}
	return []resourcev1.DeviceTaint{{Key: "t", Value: "v", Effect: effect}}
}

// drawAttributes gives a device letters and usually attribute x, with one of several types.
func (w *world) drawAttributes(
	t *rapid.T, device model.DeviceID,
) map[resourcev1.QualifiedName]resourcev1.DeviceAttribute {
	letters := rapid.SampledFrom([]string{"", "a", "b", "ab", "ab", "abc"}).Draw(t, "letters")
	w.letters[device] = strings.Split(letters, "")
	one, two, text := int64(1), int64(2), "1"
	name := resourcev1.QualifiedName("x")
	if rapid.Bool().Draw(t, "full name") {
		name = driver + "/x"
	}
	attributes := map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"letters": {StringValue: &letters}}
	switch rapid.IntRange(0, 6).Draw(t, "x") {
	case 0, 1:
		attributes[name], w.values[device] = resourcev1.DeviceAttribute{IntValue: &one}, []string{"i1"}
	case 2:
		attributes[name], w.values[device] = resourcev1.DeviceAttribute{IntValue: &two}, []string{"i2"}
	case 3:
		attributes[name], w.values[device] = resourcev1.DeviceAttribute{StringValue: &text}, []string{"s1"}
	case 4:
		attributes[name], w.values[device] = resourcev1.DeviceAttribute{IntValues: []int64{2, 1}}, []string{"i1", "i2"}
	case 5:
		attributes[name], w.values[device] = resourcev1.DeviceAttribute{IntValues: []int64{2, 3}}, []string{"i2", "i3"}
	}
	return attributes
}

func (w *world) drawPool(t *rapid.T, p int, total *int) {
	id := model.PoolID{Driver: driver, Pool: fmt.Sprint("p", p)}
	slice := &model.Slice{
		Name:       id.Pool,
		Pool:       id,
		Generation: 1,
		PoolSlices: rapid.SampledFrom([]int64{1, 1, 1, 1, 1, 2}).Draw(t, "slices"),
	}
	most := 6 // devices; brute force tries all their orders
	if w.features.easy {
		slice.PoolSlices, most = 1, 4
	}
	scopes := []model.Scope{
		{Node: "n"},
		{Node: "other"},
		{All: true},
		{Selector: rackSelector("a")},
		{Selector: rackSelector("b")},
	}
	reached := []bool{true, false, true, true, false}
	if w.features.counters {
		slice.Counters = w.drawCounters(t, id.Pool)
	}
	for d := range rapid.IntRange(min(1, most-*total), min(4, most-*total)).Draw(t, "devices") {
		*total++
		device := model.DeviceID{Driver: driver, Pool: id.Pool, Device: fmt.Sprint("d", d)}
		scope := rapid.SampledFrom([]int{0, 0, 0, 0, 0, 1, 2, 2, 3, 4}).Draw(t, "scope")
		taints := drawTaint(t)
		if w.features.easy {
			scope, taints = min(scope, 3)&^1, nil // local to this node, or reachable from all
		}
		slice.Devices = append(slice.Devices, model.Device{
			Name: device.Device, Usage: &model.Usage{Scope: scopes[scope], Taints: taints},
			Attributes: w.drawAttributes(t, device),
		})
		if w.features.counters {
			w.drawTakes(t, device, &slice.Devices[d])
		}
		w.devices = append(w.devices, device)
		w.scope[device] = fmt.Sprint(scope)
		w.taints[device] = taints
		w.held[device] = rapid.IntRange(0, 6).Draw(t, "held") == 0 && !w.features.easy && w.compatibleWithHeld(device)
		if w.features.capacity {
			w.drawCapacity(t, device, &slice.Devices[d])
		}
		if w.features.binding {
			w.drawBinding(t, device, &slice.Devices[d])
		}
		w.reached[device] = reached[scope] && slice.PoolSlices == 1
		w.incomplete = w.incomplete || reached[scope] && slice.PoolSlices == 2
	}
	w.state.Devices.PutSlice(slice)
	w.slices = append(w.slices, slice)
	for _, device := range w.devices {
		if device.Pool == id.Pool && w.held[device] {
			claim := &model.Claim{
				Key:        model.Key{Namespace: "ns", Name: "holder of " + device.String()},
				Allocation: &model.Allocation{},
			}
			claim.Allocation.Devices = []resourcev1.DeviceRequestAllocationResult{
				{Request: "r", Driver: device.Driver, Pool: device.Pool, Device: device.Device},
			}
			if h := w.capacity[device]; h.shared {
				share := types.UID("share of " + device.String())
				claim.Allocation.Devices[0].ShareID = &share
				claim.Allocation.Devices[0].ConsumedCapacity = map[resourcev1.QualifiedName]resource.Quantity{
					"m": *resource.NewQuantity(int64(h.taken), resource.DecimalSI),
				}
			}
			w.state.Claims.Put(claim)
		}
	}
}

func counter(n int) resourcev1.Counter {
	return resourcev1.Counter{Value: *resource.NewMilliQuantity(int64(n)*500, resource.DecimalSI)}
}

func (w *world) drawCounters(t *rapid.T, pool string) []resourcev1.CounterSet {
	c, d := rapid.IntRange(1, 4).Draw(t, "c"), rapid.IntRange(1, 2).Draw(t, "d")
	w.total[pool+"/c"], w.total[pool+"/d"] = c, d
	return []resourcev1.CounterSet{
		{Name: "s", Counters: map[string]resourcev1.Counter{"c": counter(c)}},
		{Name: "t", Counters: map[string]resourcev1.Counter{"d": counter(d)}},
	}
}

func (w *world) drawTakes(t *rapid.T, device model.DeviceID, d *model.Device) {
	takes := [2]int{rapid.IntRange(0, 3).Draw(t, "takes c"), rapid.IntRange(0, 1).Draw(t, "takes d")}
	w.usage[device] = takes
	if takes[0] > 0 {
		d.ConsumesCounters = append(
			d.ConsumesCounters,
			resourcev1.DeviceCounterConsumption{
				CounterSet: "s",
				Counters:   map[string]resourcev1.Counter{"c": counter(takes[0])},
			},
		)
	}
	if takes[1] > 0 {
		d.ConsumesCounters = append(
			d.ConsumesCounters,
			resourcev1.DeviceCounterConsumption{
				CounterSet: "t",
				Counters:   map[string]resourcev1.Counter{"d": counter(takes[1])},
			},
		)
	}
	if !w.features.groups {
		return
	}
	var groups [2]string
	for i := range d.ConsumesCounters {
		letters := rapid.SampledFrom([]string{"", "a", "b", "ab"}).Draw(t, "groups")
		if letters != "" {
			d.ConsumesCounters[i].CompatibilityGroups = strings.Split(letters, "")
		}
		if d.ConsumesCounters[i].CounterSet == "s" {
			groups[0] = letters
		} else {
			groups[1] = letters
		}
	}
	w.groups[device] = groups
}

// compatibleWithHeld reports whether the device is compatible with the devices in use.
func (w *world) compatibleWithHeld(device model.DeviceID) bool {
	devices := []model.DeviceID{device}
	for other, held := range w.held {
		if held && other.Pool == device.Pool {
			devices = append(devices, other)
		}
	}
	return w.compatible(devices)
}

// compatible reports whether devices of one pool may take from its counters at the same time.
func (w *world) compatible(devices []model.DeviceID) bool {
	for counter := range 2 {
		both, none, n := map[rune]int{}, 0, 0
		for _, user := range devices {
			if w.usage[user][counter] == 0 {
				continue
			}
			n++
			if w.groups[user][counter] == "" {
				none++
			}
			for _, letter := range w.groups[user][counter] {
				both[letter]++
			}
		}
		if n != none && both['a'] != n && both['b'] != n {
			return false
		}
	}
	return true
}

func rackSelector(rack string) *corev1.NodeSelector {
	return &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: "rack", Operator: corev1.NodeSelectorOpIn, Values: []string{rack}},
		}}},
	}
}

// selected reports whether the device has all letters that the selectors of the alternative test.
func (w *world) selected(device model.DeviceID, alternative *model.Alternative) bool {
	for _, letter := range []string{"a", "b", "c"} {
		if slices.Contains(alternative.Selectors, selector(letter)) && !slices.Contains(w.letters[device], letter) {
			return false
		}
	}
	return true
}

// matches reports whether the device is selected, has enough capacity, and has no taint that is not
// tolerated.
func (w *world) matches(device model.DeviceID, alternative *model.Alternative) bool {
	if !w.selected(device, alternative) {
		return false
	}
	if _, ok := w.capacity[device].consumedBy(alternative); !ok {
		return false
	}
	for _, taint := range w.taints[device] {
		if taint.Effect != "None" && !tolerates(alternative, taint.Effect) {
			return false
		}
	}
	return true
}

func tolerates(alternative *model.Alternative, effect resourcev1.DeviceTaintEffect) bool {
	if len(alternative.Tolerations) == 0 {
		return false
	}
	toleration := alternative.Tolerations[0]
	return (toleration.Effect == "" || toleration.Effect == effect) && toleration.Value != "w"
}

// drawTaintRule returns a rule that selects devices by name. It may be applied before or after the
// slices.
func (w *world) drawTaintRule(t *rapid.T) *model.TaintRule {
	constraint := &model.TaintRule{Name: "rule", Selects: rapid.IntRange(0, 4).Draw(t, "selects") > 0}
	constraint.Driver = rapid.SampledFrom([]string{"", driver, "other"}).Draw(t, "driver")
	constraint.Pool = rapid.SampledFrom([]string{"", "p0", "p1"}).Draw(t, "pool")
	constraint.Device = rapid.SampledFrom([]string{"", "d0", "d1"}).Draw(t, "device")
	constraint.Taint = resourcev1.DeviceTaint{
		Key:    "t",
		Value:  "v",
		Effect: rapid.SampledFrom([]resourcev1.DeviceTaintEffect{"None", "NoSchedule", "NoExecute"}).Draw(t, "effect"),
	}
	return constraint
}

func (w *world) taintBy(constraint *model.TaintRule) {
	for _, device := range w.devices {
		names := (constraint.Driver == "" || constraint.Driver == driver) &&
			(constraint.Pool == "" || constraint.Pool == device.Pool) &&
			(constraint.Device == "" || constraint.Device == device.Device)
		if constraint.Selects && names {
			w.taints[device] = append(slices.Clone(w.taints[device]), constraint.Taint)
		}
	}
}

// allDevices returns the devices of an alternative with allocationMode All.
func (w *world) allDevices(alternative *model.Alternative) []model.DeviceID {
	var list []model.DeviceID
	for _, device := range w.devices {
		if _, capable := w.capacity[device].consumedBy(alternative); capable && w.reached[device] &&
			w.selected(device, alternative) {
			list = append(list, device)
		}
	}
	return list
}

// compared returns the properties of the device that a constraint compares.
func (w *world) compared(claim *model.Claim, constraint *resourcev1.DeviceConstraint, device model.DeviceID) string {
	text := ""
	for r := range claim.Requests {
		for o := range claim.Requests[r].Alternatives {
			alternative := &claim.Requests[r].Alternatives[o]
			switch {
			case !covers(constraint, &claim.Requests[r], alternative):
			case len(alternative.DerivedAttributes) > 0 && !w.selected(device, alternative):
				text += "-"
			default:
				text += fmt.Sprint(w.valuesFor(alternative, device))
			}
		}
	}
	return text
}

func covers(constraint *resourcev1.DeviceConstraint, request *model.Request, alternative *model.Alternative) bool {
	return len(constraint.Requests) == 0 || slices.Contains(constraint.Requests, request.Name) ||
		slices.Contains(constraint.Requests, request.ResultName(*alternative))
}

// kind returns the properties by which devices are distinguished: pool, scope, the requests they
// can serve, the values that constraints compare and, without admin access, the counter usage. If a
// claim has requests both with and without admin access, it includes the name of the device.
func (w *world) kind(device model.DeviceID, adminAccess bool) string {
	kind := device.Pool + "/" + w.scope[device] + "/"
	if w.capacity[device].shared {
		kind += device.Device
	}
	kind += fmt.Sprint(w.binding[device])
	if !adminAccess {
		kind += fmt.Sprint(w.usage[device], w.groups[device])
	}
	for _, claim := range w.claims {
		admin, other := false, false
		for r := range claim.Requests {
			for o := range claim.Requests[r].Alternatives {
				alternative := &claim.Requests[r].Alternatives[o]
				kind += fmt.Sprint(w.matches(device, alternative), " ")
				admin, other = admin || alternative.AdminAccess, other || !alternative.AdminAccess
			}
		}
		for i := range claim.Constraints {
			kind += w.compared(claim, &claim.Constraints[i], device)
		}
		if admin && other {
			kind += device.Device
		}
	}
	return kind
}
