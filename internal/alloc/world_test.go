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

// world is a node with devices, and claims that want some of them. It is drawn together with what the reference computes with,
// which knows nothing of selectors, quantities and pools; test/peer/allocators draws API objects instead, which two programs
// read, each in its own way.
type world struct {
	state    *model.State
	node     *model.NodeInfo
	claims   []*model.Claim
	slices   []*model.Slice
	devices  []model.DeviceID
	reached  map[model.DeviceID]bool // from the node, in a usable pool
	held     map[model.DeviceID]bool
	halfPool bool                        // the node can use devices of a pool that is not complete
	has      map[model.DeviceID][]string // letters that selectors ask for
	scope    map[model.DeviceID]string
	taints   map[model.DeviceID][]resourcev1.DeviceTaint // t=v, of the slice and of rules
	values   map[model.DeviceID][]string                 // of attribute x
	takes    map[model.DeviceID][2]int                   // from counters c and d of its pool
	groups   map[model.DeviceID][2]string                // of compatibility: letters; by counter
	total    map[string]int                              // of the counters, by pool and name
	capacity map[model.DeviceID]has                      // capacity
	binding  map[model.DeviceID]binding
	features features
}

// has is how much capacity a device has, in all and taken, by which policy it is given out, and whether to many.
type has struct {
	total, taken, policy int
	shared               bool
}

// binding is what has to happen before a device can be used, and whether it ties the claim to the node.
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

// takesOf is what an option takes of a device's capacity, if it can have that much.
func (h has) takesOf(option *model.Option) (int, bool) {
	if h.total == 0 {
		return 0, option.Capacity == nil
	}
	asked := 0
	if option.Capacity != nil {
		amount := option.Capacity.Requests["m"]
		asked = int(amount.Value())
	}
	takes := [][]int{{h.total, 1, 2, 3}, {1, 1, 3, 3}, {1, 1, 2, 9}}[h.policy][asked]
	return takes, takes <= h.total
}

func deviceCapacity(h has) map[resourcev1.QualifiedName]resourcev1.DeviceCapacity {
	n := func(n int) *resource.Quantity { return resource.NewQuantity(int64(n), resource.DecimalSI) }
	c := resourcev1.DeviceCapacity{Value: *n(h.total)}
	switch h.policy {
	case 1:
		c.RequestPolicy = &resourcev1.CapacityRequestPolicy{Default: n(1), ValidRange: &resourcev1.CapacityRequestPolicyRange{Min: n(1), Max: n(3), Step: n(2)}}
	case 2:
		c.RequestPolicy = &resourcev1.CapacityRequestPolicy{Default: n(1), ValidValues: []resource.Quantity{*n(1), *n(2)}}
	}
	return map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"m": c}
}

func (w *world) drawCapacity(t *rapid.T, device model.DeviceID, d *model.Device) {
	h := has{total: rapid.IntRange(0, 5).Draw(t, "capacity"), policy: rapid.IntRange(0, 2).Draw(t, "policy"), shared: rapid.Bool().Draw(t, "shared")}
	if h.total > 0 {
		d.Capacity = deviceCapacity(h)
	}
	if h.shared && w.held[device] {
		h.taken = rapid.IntRange(0, h.total).Draw(t, "taken")
	}
	d.AllowMultipleAllocations = h.shared
	w.capacity[device] = h
}

// features are what the claims of a world use.
type features struct {
	all, admin, rules, alternatives, counters, capacity, binding, derived, groups, taintRules bool
	easy                                                                                      bool // most devices can be had
}

func selector(letter string) string {
	return fmt.Sprintf(`device.attributes[%q].letters.contains(%q)`, driver, letter)
}

func drawWorld(t *rapid.T) *world {
	w := &world{
		state: model.NewState(), reached: map[model.DeviceID]bool{}, held: map[model.DeviceID]bool{}, has: map[model.DeviceID][]string{},
		scope: map[model.DeviceID]string{}, taints: map[model.DeviceID][]resourcev1.DeviceTaint{}, values: map[model.DeviceID][]string{},
		takes: map[model.DeviceID][2]int{}, total: map[string]int{}, capacity: map[model.DeviceID]has{}, binding: map[model.DeviceID]binding{},
		groups: map[model.DeviceID][2]string{},
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
	w.state.PutNode(&model.Node{Name: "n", Labels: map[string]string{"rack": "a"}, Allocatable: model.Resources{corev1.ResourcePods: 10}})
	w.state.PutClass(&model.Class{Name: "class", Selectors: []string{fmt.Sprintf("device.driver == %q", driver)}})
	w.node, _ = w.state.Node("n")
	var rule *model.TaintRule
	late := false
	if w.features.taintRules {
		rule, late = w.drawTaintRule(t), rapid.Bool().Draw(t, "late")
		if !late {
			w.state.PutTaintRule(rule)
		}
	}
	total := 0
	for p := range rapid.IntRange(1, 3).Draw(t, "pools") {
		w.drawPool(t, p, &total)
	}
	if late {
		w.state.PutTaintRule(rule)
	}
	if rule != nil {
		w.taintBy(rule)
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
				option := w.drawOption(t, false)
				option.Name = fmt.Sprint("o", o)
				request.Options = append(request.Options, option)
				names = append(names, request.ResultName(option))
			}
		} else {
			request.Options = []model.Option{w.drawOption(t, w.features.admin)}
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

func (w *world) drawOption(t *rapid.T, admin bool) model.Option {
	option := model.Option{Class: "class", Count: rapid.Int64Range(1, 2).Draw(t, "count")}
	for _, letter := range rapid.SampledFrom([]string{"", "", "", "", "a", "b", "ab", "c"}).Draw(t, "wanted") {
		option.Selectors = append(option.Selectors, selector(string(letter)))
	}
	option.Tolerations = rapid.SampledFrom(tolerations).Draw(t, "tolerations")
	if w.features.all && rapid.IntRange(0, 2).Draw(t, "all") == 0 {
		option.All, option.Count = true, 0
	}
	if asked := rapid.Int64Range(0, 3).Draw(t, "capacity"); w.features.capacity && asked > 0 {
		option.Capacity = &resourcev1.CapacityRequirements{Requests: map[resourcev1.QualifiedName]resource.Quantity{"m": *resource.NewQuantity(asked, resource.DecimalSI)}}
	}
	if w.features.derived && w.features.rules && rapid.Bool().Draw(t, "derived") {
		expression := rapid.SampledFrom(derivations).Draw(t, "derivation")
		option.DerivedAttributes = []resourcev1.DeviceDerivedAttribute{{Name: driver + "/x", Expression: expression}}
	}
	option.AdminAccess = admin && rapid.Bool().Draw(t, "admin")
	return option
}

// derivations are expressions for attribute x.
var derivations = []string{
	fmt.Sprintf(`device.attributes[%q].letters.size()`, driver), `"1"`, fmt.Sprintf(`[1, device.attributes[%q].letters.size()]`, driver),
}

// valuesFor are the values of attribute x that count for an option.
func (w *world) valuesFor(option *model.Option, device model.DeviceID) []string {
	if len(option.DerivedAttributes) == 0 {
		return w.values[device]
	}
	size := fmt.Sprint("i", len(w.has[device]))
	switch slices.Index(derivations, option.DerivedAttributes[0].Expression) {
	case 0:
		return []string{size}
	case 1:
		return []string{"s1"}
	}
	return slices.Compact([]string{"i1", size})
}

func drawRule(t *rapid.T, names []string) resourcev1.DeviceConstraint {
	name := resourcev1.FullyQualifiedName(driver + "/x")
	rule := resourcev1.DeviceConstraint{MatchAttribute: &name}
	if rapid.Bool().Draw(t, "distinct") {
		rule = resourcev1.DeviceConstraint{DistinctAttribute: &name}
	}
	if rapid.Bool().Draw(t, "some") {
		rule.Requests = []string{rapid.SampledFrom(names).Draw(t, "covers"), rapid.SampledFrom(names).Draw(t, "covers")}
	}
	return rule
}

var tolerations = [][]resourcev1.DeviceToleration{
	nil, nil, nil,
	{{Key: "t", Operator: resourcev1.DeviceTolerationOpExists}},
	{{Key: "t", Operator: resourcev1.DeviceTolerationOpEqual, Value: "v"}},
	{{Key: "t", Operator: resourcev1.DeviceTolerationOpEqual, Value: "w"}},
	{{Operator: resourcev1.DeviceTolerationOpExists, Effect: resourcev1.DeviceTaintEffectNoExecute}},
}

func drawTaint(t *rapid.T) []resourcev1.DeviceTaint {
	effect := rapid.SampledFrom([]resourcev1.DeviceTaintEffect{"", "", "", "", "", "", "", "None", "NoSchedule", "NoExecute"}).Draw(t, "taint")
	if effect == "" {
		return nil
	}
	return []resourcev1.DeviceTaint{{Key: "t", Value: "v", Effect: effect}}
}

// drawAttributes gives a device letters, and in most cases attribute x, of one of several types.
func (w *world) drawAttributes(t *rapid.T, device model.DeviceID) map[resourcev1.QualifiedName]resourcev1.DeviceAttribute {
	letters := rapid.SampledFrom([]string{"", "a", "b", "ab", "ab", "abc"}).Draw(t, "letters")
	w.has[device] = strings.Split(letters, "")
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
	slice := &model.Slice{Name: id.Pool, Pool: id, Generation: 1, PoolSlices: rapid.SampledFrom([]int64{1, 1, 1, 1, 1, 2}).Draw(t, "slices")}
	most := 6 // devices: brute force tries all their orders
	if w.features.easy {
		slice.PoolSlices, most = 1, 4
	}
	scopes := []model.Scope{{Node: "n"}, {Node: "other"}, {All: true}, {Selector: rackSelector("a")}, {Selector: rackSelector("b")}}
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
			scope, taints = min(scope, 3)&^1, nil // from this node alone, or from all
		}
		slice.Devices = append(slice.Devices, model.Device{
			Name: device.Device, Usage: &model.Usage{Scope: scopes[scope], Taints: taints}, Attributes: w.drawAttributes(t, device),
		})
		if w.features.counters {
			w.drawTakes(t, device, &slice.Devices[d])
		}
		w.devices = append(w.devices, device)
		w.scope[device] = fmt.Sprint(scope)
		w.taints[device] = taints
		w.held[device] = rapid.IntRange(0, 6).Draw(t, "held") == 0 && !w.features.easy && w.goesWithHeld(device)
		if w.features.capacity {
			w.drawCapacity(t, device, &slice.Devices[d])
		}
		if w.features.binding {
			w.drawBinding(t, device, &slice.Devices[d])
		}
		w.reached[device] = reached[scope] && slice.PoolSlices == 1
		w.halfPool = w.halfPool || reached[scope] && slice.PoolSlices == 2
	}
	w.state.PutSlice(slice)
	w.slices = append(w.slices, slice)
	for _, device := range w.devices {
		if device.Pool == id.Pool && w.held[device] {
			claim := &model.Claim{Key: model.Key{Namespace: "ns", Name: "holder of " + device.String()}, Allocation: &model.Allocation{}}
			claim.Allocation.Devices = []resourcev1.DeviceRequestAllocationResult{{Request: "r", Driver: device.Driver, Pool: device.Pool, Device: device.Device}}
			if h := w.capacity[device]; h.shared {
				share := types.UID("share of " + device.String())
				claim.Allocation.Devices[0].ShareID = &share
				claim.Allocation.Devices[0].ConsumedCapacity = map[resourcev1.QualifiedName]resource.Quantity{"m": *resource.NewQuantity(int64(h.taken), resource.DecimalSI)}
			}
			w.state.PutClaim(claim)
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
	w.takes[device] = takes
	if takes[0] > 0 {
		d.ConsumesCounters = append(d.ConsumesCounters, resourcev1.DeviceCounterConsumption{CounterSet: "s", Counters: map[string]resourcev1.Counter{"c": counter(takes[0])}})
	}
	if takes[1] > 0 {
		d.ConsumesCounters = append(d.ConsumesCounters, resourcev1.DeviceCounterConsumption{CounterSet: "t", Counters: map[string]resourcev1.Counter{"d": counter(takes[1])}})
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

// goesWithHeld says whether the device can be in use beside those that are.
func (w *world) goesWithHeld(device model.DeviceID) bool {
	users := []model.DeviceID{device}
	for other, held := range w.held {
		if held && other.Pool == device.Pool {
			users = append(users, other)
		}
	}
	return w.compatible(users)
}

// compatible says whether devices of one pool may take from its counters at a time.
func (w *world) compatible(users []model.DeviceID) bool {
	for counter := range 2 {
		both, none, n := map[rune]int{}, 0, 0
		for _, user := range users {
			if w.takes[user][counter] == 0 {
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
	return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
		{Key: "rack", Operator: corev1.NodeSelectorOpIn, Values: []string{rack}},
	}}}}
}

// selected says whether the device has all letters that the option's selectors ask for.
func (w *world) selected(device model.DeviceID, option *model.Option) bool {
	for _, letter := range []string{"a", "b", "c"} {
		if slices.Contains(option.Selectors, selector(letter)) && !slices.Contains(w.has[device], letter) {
			return false
		}
	}
	return true
}

// matches is selected, and with the capacity and without a taint that matter to the option.
func (w *world) matches(device model.DeviceID, option *model.Option) bool {
	if !w.selected(device, option) {
		return false
	}
	if _, ok := w.capacity[device].takesOf(option); !ok {
		return false
	}
	for _, taint := range w.taints[device] {
		if taint.Effect != "None" && !tolerates(option, taint.Effect) {
			return false
		}
	}
	return true
}

func tolerates(option *model.Option, effect resourcev1.DeviceTaintEffect) bool {
	if len(option.Tolerations) == 0 {
		return false
	}
	toleration := option.Tolerations[0]
	return (toleration.Effect == "" || toleration.Effect == effect) && toleration.Value != "w"
}

// drawTaintRule taints devices by some of their names. It may come before or after their slices.
func (w *world) drawTaintRule(t *rapid.T) *model.TaintRule {
	rule := &model.TaintRule{Name: "rule", Selects: rapid.IntRange(0, 4).Draw(t, "selects") > 0}
	rule.Driver = rapid.SampledFrom([]string{"", driver, "other"}).Draw(t, "driver")
	rule.Pool = rapid.SampledFrom([]string{"", "p0", "p1"}).Draw(t, "pool")
	rule.Device = rapid.SampledFrom([]string{"", "d0", "d1"}).Draw(t, "device")
	rule.Taint = resourcev1.DeviceTaint{Key: "t", Value: "v", Effect: rapid.SampledFrom([]resourcev1.DeviceTaintEffect{"None", "NoSchedule", "NoExecute"}).Draw(t, "effect")}
	return rule
}

func (w *world) taintBy(rule *model.TaintRule) {
	for _, device := range w.devices {
		names := (rule.Driver == "" || rule.Driver == driver) && (rule.Pool == "" || rule.Pool == device.Pool) && (rule.Device == "" || rule.Device == device.Device)
		if rule.Selects && names {
			w.taints[device] = append(slices.Clone(w.taints[device]), rule.Taint)
		}
	}
}

// all are the devices that an option for all devices means.
func (w *world) all(option *model.Option) []model.DeviceID {
	var list []model.DeviceID
	for _, device := range w.devices {
		if _, capable := w.capacity[device].takesOf(option); capable && w.reached[device] && w.selected(device, option) {
			list = append(list, device)
		}
	}
	return list
}

// compared is what of the device a rule looks at.
func (w *world) compared(claim *model.Claim, rule *resourcev1.DeviceConstraint, device model.DeviceID) string {
	text := ""
	for r := range claim.Requests {
		for o := range claim.Requests[r].Options {
			option := &claim.Requests[r].Options[o]
			switch {
			case !covers(rule, &claim.Requests[r], option):
			case len(option.DerivedAttributes) > 0 && !w.selected(device, option):
				text += "-"
			default:
				text += fmt.Sprint(w.valuesFor(option, device))
			}
		}
	}
	return text
}

func covers(rule *resourcev1.DeviceConstraint, request *model.Request, option *model.Option) bool {
	return len(rule.Requests) == 0 || slices.Contains(rule.Requests, request.Name) || slices.Contains(rule.Requests, request.ResultName(*option))
}

// kind is what can be told of a device: its pool, from where it is used, which requests it could serve, and its values
// if some constraint is about them; and without admin access, what it takes from counters. Where a claim wants devices both with and without admin access, it is the device.
func (w *world) kind(device model.DeviceID, adminAccess bool) string {
	kind := device.Pool + "/" + w.scope[device] + "/"
	if w.capacity[device].shared {
		kind += device.Device
	}
	kind += fmt.Sprint(w.binding[device])
	if !adminAccess {
		kind += fmt.Sprint(w.takes[device], w.groups[device])
	}
	for _, claim := range w.claims {
		admin, other := false, false
		for r := range claim.Requests {
			for o := range claim.Requests[r].Options {
				option := &claim.Requests[r].Options[o]
				kind += fmt.Sprint(w.matches(device, option), " ")
				admin, other = admin || option.AdminAccess, other || !option.AdminAccess
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
