package sched_test

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
)

// gpuNode is a node with GPUs that are published as the NVIDIA driver publishes GPUs with dynamic
// partitions: each possible partition, with its consumption of the counters of its GPU.
type gpuNode struct {
	name    string
	slice   *model.Slice
	devices []splitDevice
}

type splitDevice struct {
	name, gpu, profile string
	takes              map[string]int64
}

func newGPUNode(name string) *gpuNode {
	return &gpuNode{
		name:  name,
		slice: &model.Slice{Name: name, Pool: model.PoolID{Driver: gpus, Pool: name}, Generation: 1, PoolSlices: 1},
	}
}

func (n *gpuNode) addSet(gpu string, counters map[string]int64) {
	set := resourcev1.CounterSet{Name: gpu, Counters: map[string]resourcev1.Counter{}}
	for counter, value := range counters {
		set.Counters[counter] = resourcev1.Counter{Value: *quantity.NewQuantity(value, quantity.DecimalSI)}
	}
	n.slice.Counters = append(n.slice.Counters, set)
}

func (n *gpuNode) add(gpu, profile string, takes map[string]int64) {
	d := splitDevice{name: fmt.Sprintf("%s-%s-%d", gpu, profile, len(n.devices)), gpu: gpu, profile: profile, takes: takes}
	n.devices = append(n.devices, d)
	consumed := resourcev1.DeviceCounterConsumption{CounterSet: gpu, Counters: map[string]resourcev1.Counter{}}
	for counter, value := range takes {
		consumed.Counters[counter] = resourcev1.Counter{Value: *quantity.NewQuantity(value, quantity.DecimalSI)}
	}
	id := n.name + "/" + gpu // a UUID
	n.slice.Devices = append(n.slice.Devices, model.Device{
		Name: d.name,
		Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{
			"profile": {StringValue: &profile},
			"gpu":     {StringValue: &id},
		},
		Usage: &model.Usage{
			Scope:            model.Scope{Node: n.name},
			ConsumesCounters: []resourcev1.DeviceCounterConsumption{consumed},
		},
	})
}

// addA100 adds a GPU with all its partitions.
func (n *gpuNode) addA100(gpu string) {
	counters := map[string]int64{
		"multiprocessors": 98,
		"copy-engines":    7,
		"decoders":        5,
		"encoders":        0,
		"jpeg-engines":    1,
		"ofa-engines":     1,
		"memory":          42144366592,
	}
	for i := range 8 {
		counters[fmt.Sprint("memory-slice-", i)] = 1
	}
	n.addSet(gpu, counters)
	add := func(profile string, processors, engines, memory int64, from, to int) {
		takes := map[string]int64{"multiprocessors": processors, "copy-engines": engines, "memory": memory}
		for i := from; i < to; i++ {
			takes[fmt.Sprint("memory-slice-", i)] = 1
		}
		n.add(gpu, profile, takes)
	}
	add("7g", 98, 7, 42144366592, 0, 8)
	add("4g", 56, 4, 20937965568, 0, 4)
	for i := range 2 {
		add("3g", 42, 3, 20937965568, 4*i, 4*i+4)
	}
	for i := range 3 {
		add("2g", 28, 2, 10468982784, 2*i, 2*i+2)
	}
	for i := range 4 {
		add("1g-double", 14, 1, 10468982784, 2*i, 2*i+2)
	}
	for i := range 7 {
		add("1g", 14, 1, 5100273664, i, i+1)
	}
}

func ofProfile(name, profile string, count int64) model.Request {
	option := model.Alternative{Class: "gpu", Count: count}
	if profile != "" {
		option.Selectors = []string{fmt.Sprintf(`device.attributes[%q].profile == %q`, gpus, profile)}
	}
	return model.Request{Name: name, Alternatives: []model.Alternative{option}}
}

func onOneGPU() []resourcev1.DeviceConstraint {
	name := resourcev1.FullyQualifiedName(gpus + "/gpu")
	return []resourcev1.DeviceConstraint{{MatchAttribute: &name}}
}

// gpuGang is a gang on such nodes, each member with its own claim.
type gpuGang struct {
	nodes  []*gpuNode
	room   map[string]int // maximum number of pods by node
	claims []*model.Claim
	group  *model.Group
}

func (g *gpuGang) addNode(n *gpuNode, room int) {
	g.nodes = append(g.nodes, n)
	if g.room == nil {
		g.room = map[string]int{}
	}
	g.room[n.name] = room
}

func (g *gpuGang) addMember(constraints []resourcev1.DeviceConstraint, requests ...model.Request) {
	name := fmt.Sprintf("m-%02d", len(g.claims))
	g.claims = append(g.claims, &model.Claim{Key: unitKey(false, name).Key, Requests: requests, Constraints: constraints})
}

func (g *gpuGang) state(t testing.TB) *model.State {
	s := model.NewState()
	s.Classes.Put(&model.Class{Name: "gpu"})
	for _, n := range g.nodes {
		s.Nodes.Put(
			&model.Node{
				Name:        n.name,
				Labels:      map[string]string{corev1.LabelHostname: n.name},
				Allocatable: model.Resources{corev1.ResourcePods: int64(g.room[n.name])},
			},
		)
		s.Devices.PutSlice(n.slice)
	}
	group := "pg"
	for _, claim := range g.claims {
		pod := &core.Pod{ObjectMeta: meta(claim.Key.Name)}
		pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &group}
		converted, err := model.PodFrom(pod, []model.PodClaim{{Entry: "c", Claim: claim.Key.Name}})
		if err != nil {
			t.Fatal(err)
		}
		s.Pods.Put(converted)
		s.Claims.Put(claim)
	}
	s.Groups.Put(g.group)
	return s
}

// Seven pods that need a whole GPU each, on a node with six: the counters alone show that they
// cannot be placed, within a small part of the budget. The same holds for dozens of pods on a fleet
// (P6).
func TestP6OneMemberTooMany(t *testing.T) {
	for _, test := range []struct{ nodes, gpus int }{{1, 6}, {10, 8}} {
		g := &gpuGang{}
		for i := range test.nodes {
			n := newGPUNode(fmt.Sprint("w-", i))
			for gpu := range test.gpus {
				n.addA100(fmt.Sprint("gpu-", gpu))
			}
			g.addNode(n, 110)
		}
		fit := test.nodes * test.gpus
		for range fit + 1 {
			g.addMember(onOneGPU(), ofProfile("a", "1g", 1), ofProfile("b", "1g", 1), ofProfile("c", "2g", 1),
				ofProfile("d", "3g", 1))
		}
		g.group = gang("pg", int32(fit+1))
		_, reasons := sched.NewPlacer(g.state(t), 1000).Try(unitKey(true, "pg"))
		text := reasons.String()
		if reasons.Code != sched.CodeUnschedulable ||
			!strings.HasPrefix(text, fmt.Sprintf("%d of %d pods fit together", fit, fit+1)) ||
			!strings.Contains(text, "of counter gpu-") {
			t.Errorf("%d nodes with %d GPUs: %s: %s", test.nodes, test.gpus, reasons.Code, text)
		}
		g.group = gang("pg", int32(fit))
		if plan, reasons := sched.NewPlacer(g.state(t), 1000).Try(unitKey(true, "pg")); plan == nil || len(plan.Pods) != fit {
			t.Errorf("%d nodes with %d GPUs: %v", test.nodes, test.gpus, reasons)
		}
	}
}

func drawGPUGang(t *rapid.T) *gpuGang {
	g := &gpuGang{}
	profiles := []string{"1", "2", "3"}
	twin := rapid.Bool().Draw(t, "alike")
	var first *gpuNode
	for i := range rapid.IntRange(1, 2).Draw(t, "nodes") {
		n := newGPUNode(fmt.Sprint("n", i))
		for gpu := range rapid.IntRange(1, 2).Draw(t, "gpus") {
			name := fmt.Sprint("gpu-", gpu)
			n.addSet(name, map[string]int64{"m": rapid.Int64Range(2, 5).Draw(t, "total"), "s0": 1, "s1": 1})
			for range rapid.IntRange(1, 4).Draw(t, "devices") {
				takes := map[string]int64{"m": rapid.Int64Range(1, 3).Draw(t, "takes")}
				if slot := rapid.IntRange(0, 3).Draw(t, "slot"); slot < 2 {
					takes[fmt.Sprint("s", slot)] = 1
				}
				n.add(name, rapid.SampledFrom(profiles).Draw(t, "profile"), takes)
			}
		}
		if first == nil {
			first = n
		} else if twin {
			n = newGPUNode(n.name)
			for gpu := range first.slice.Counters {
				counters := map[string]int64{}
				for counter, value := range first.slice.Counters[gpu].Counters {
					counters[counter] = value.Value.Value()
				}
				n.addSet(first.slice.Counters[gpu].Name, counters)
			}
			for _, d := range first.devices {
				n.add(d.gpu, d.profile, d.takes)
			}
		}
		g.addNode(n, rapid.IntRange(1, 4).Draw(t, "room"))
	}
	type template struct {
		constraints []resourcev1.DeviceConstraint
		requests    []model.Request
	}
	var templates []template
	for range rapid.IntRange(1, 2).Draw(t, "templates") {
		var made template
		if rapid.Bool().Draw(t, "match") {
			made.constraints = onOneGPU()
		}
		for r := range rapid.IntRange(1, 2).Draw(t, "requests") {
			profile := rapid.SampledFrom(append(profiles, "")).Draw(t, "profile")
			made.requests = append(made.requests,
				ofProfile(fmt.Sprint("r", r), profile, rapid.Int64Range(1, 2).Draw(t, "count")))
		}
		templates = append(templates, made)
	}
	members := rapid.IntRange(2, 5).Draw(t, "members")
	for range members {
		made := rapid.SampledFrom(templates).Draw(t, "template")
		g.addMember(made.constraints, made.requests...)
	}
	g.group = gang("pg", rapid.Int32Range(2, int32(members)).Draw(t, "min"))
	return g
}

// bruteForce tries every node and every device for each member, without any bounds.
type bruteForce struct {
	*gpuGang
	steps, limit int
	room         map[string]int
	taken        map[string]bool
	left         map[string]int64 // by node, GPU and counter
}

// canPlace reports whether count of the members from this one on can be placed.
func (b *bruteForce) canPlace(at, wanted int) bool {
	if wanted == 0 {
		return true
	}
	if at == len(b.claims) {
		return false
	}
	for _, n := range b.nodes {
		if b.room[n.name] == 0 {
			continue
		}
		b.room[n.name]--
		found := b.allocate(n, b.claims[at], 0, 0, nil, func() bool { return b.canPlace(at+1, wanted-1) })
		b.room[n.name]++
		if found {
			return true
		}
	}
	return len(b.claims)-at > wanted && b.canPlace(at+1, wanted)
}

func (b *bruteForce) allocate(n *gpuNode, claim *model.Claim, request, had int, on []string, next func() bool) bool {
	if request == len(claim.Requests) {
		return next()
	}
	if had == int(claim.Requests[request].Alternatives[0].Count) {
		return b.allocate(n, claim, request+1, 0, on, next)
	}
	for i := range n.devices {
		d := &n.devices[i]
		id := n.name + d.name
		selectors := claim.Requests[request].Alternatives[0].Selectors
		if b.taken[id] || len(selectors) > 0 && !strings.Contains(selectors[0], fmt.Sprintf("== %q", d.profile)) ||
			!b.consume(n, d, 0) ||
			len(claim.Constraints) > 0 && len(on) > 0 && on[0] != d.gpu {
			continue
		}
		if b.steps++; b.steps > b.limit {
			return true // it reaches its limit
		}
		b.taken[id] = true
		b.consume(n, d, 1)
		found := b.allocate(n, claim, request, had+1, append(slices.Clip(on), d.gpu), next)
		b.consume(n, d, -1)
		if b.taken[id] = false; found {
			return true
		}
	}
	return false
}

// consume takes the device's consumption times count from the counters, and reports whether they have
// enough for one.
func (b *bruteForce) consume(n *gpuNode, d *splitDevice, times int64) bool {
	enough := true
	for counter, value := range d.takes {
		id := n.name + d.gpu + counter
		enough = enough && b.left[id] >= value
		b.left[id] -= times * value
	}
	return enough
}

// useSeed makes rapid use this seed, unless the command line has another one.
func useSeed(t *testing.T, seed string) {
	t.Helper()
	f := flag.Lookup("rapid.seed")
	if f.Value.String() != f.DefValue {
		return
	}
	if err := f.Value.Set(seed); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Value.Set(f.DefValue); err != nil {
			t.Error(err)
		}
	})
}

// Whatever brute force decides within ten times the budget is never undecided, and the result is
// the same (P6). The worlds are the same in each run unless -rapid.seed is given. In the first
// world of the second seed, the pod with the most devices must be tried first.
func TestSplitDevicesAgainstBruteForce(t *testing.T) {
	for _, seed := range []string{"7919", "3343855357020235953"} {
		t.Run(seed, func(t *testing.T) {
			useSeed(t, seed)
			checkSplitDevices(t)
		})
	}
}

// checkSplitDevices compares placements in random worlds with brute force.
func checkSplitDevices(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) { checkGPUGang(t, r, drawGPUGang(r)) })
}

// TestSplitDevicesOfManyWorlds uses many more worlds, some of which failed once: one in 7,500 was
// undecided, and one in 30,000 was Unschedulable although it has a solution.
func TestSplitDevicesOfManyWorlds(t *testing.T) {
	worlds := rapid.Custom(drawGPUGang)
	for seed := range 1000 {
		checkGPUGang(t, t, worlds.Example(seed))
	}
	for _, seed := range []int{
		6611, 10206, 12455, 13416, 16407, 17839, 22761, 38007, 47047, 199399, 345698, 7214305, 11570460,
	} {
		checkGPUGang(t, t, worlds.Example(seed))
	}
}

// fataler is a *testing.T or a *rapid.T.
type fataler interface {
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// checkGPUGang compares the placement of a gang with brute force.
func checkGPUGang(t testing.TB, r fataler, g *gpuGang) {
	const budget = 200
	b := &bruteForce{
		gpuGang: g,
		limit:   10 * budget,
		room:    map[string]int{},
		taken:   map[string]bool{},
		left:    map[string]int64{},
	}
	for _, n := range g.nodes {
		b.room[n.name] = g.room[n.name]
		for _, set := range n.slice.Counters {
			for counter, value := range set.Counters {
				b.left[n.name+set.Name+counter] = value.Value.Value()
			}
		}
	}
	can := b.canPlace(0, g.group.MinCount)
	steps := budget
	if b.steps > b.limit {
		steps, b.limit = 100_000, 1_000_000
		b.steps = 0
		if can = b.canPlace(0, g.group.MinCount); b.steps > b.limit {
			return
		}
	}
	state := g.state(t)
	before := state.Dump()
	plan, reasons := sched.NewPlacer(state, steps).Try(unitKey(true, "pg"))
	if state.Dump() != before {
		r.Fatal("the trial has left traces")
	}
	if (plan != nil) != can || plan == nil && reasons.Code != sched.CodeUnschedulable {
		r.Fatalf("brute force says %v after %d steps; reasons: %v", can, b.steps, reasons)
	}
	if plan != nil {
		plan.Assume(state)
		if err := state.Audit(); err != nil {
			r.Fatal(err)
		}
		checkCounters(r, g, state)
	}
}

// TestDevicesOfClassesAreAdded checks pods that request different devices, in one pool or in a pool
// per node. The number of pods that can be placed is the sum over classes or nodes, if their
// devices are different.
func TestDevicesOfClassesAreAdded(t *testing.T) {
	for _, onePool := range []bool{false, true} {
		g := &gpuGang{}
		for i, room := range []int{1, 3} {
			n := newGPUNode(fmt.Sprint("n", i))
			n.addSet("gpu-0", map[string]int64{"m": 5})
			n.add("gpu-0", "big", map[string]int64{"m": 3})
			n.add("gpu-0", "small", map[string]int64{"m": 1})
			g.addNode(n, room)
		}
		if onePool {
			for i, n := range g.nodes {
				n.slice.Pool.Pool, n.slice.PoolSlices = "all", int64(len(g.nodes))
				for d := range n.slice.Devices {
					n.slice.Devices[d].Name = fmt.Sprintf("%d-%s", i, n.slice.Devices[d].Name)
					n.slice.Devices[d].Usage.ConsumesCounters = nil
				}
				n.slice.Counters = nil
			}
		}
		g.addMember(onOneGPU(), ofProfile("a", "small", 1))
		g.addMember(onOneGPU(), ofProfile("a", "big", 1))
		g.addMember(onOneGPU(), ofProfile("a", "big", 1))
		g.group = gang("pg", 3)
		if plan, reasons := sched.NewPlacer(g.state(t), 1000).Try(unitKey(true, "pg")); plan == nil {
			t.Errorf("one pool: %v: %v", onePool, reasons)
		}
	}
}

// checkCounters compares the sum of the consumption of all claims with the counters.
func checkCounters(t fataler, g *gpuGang, state *model.State) {
	left := map[string]int64{}
	for _, n := range g.nodes {
		for _, set := range n.slice.Counters {
			for counter, value := range set.Counters {
				left[n.name+set.Name+counter] = value.Value.Value()
			}
		}
		for _, d := range n.devices {
			holders := state.Devices.Holders(model.DeviceID{Driver: gpus, Pool: n.name, Device: d.name})
			if len(holders) > 1 {
				t.Fatalf("%s is held by %v", d.name, holders)
			}
			for counter, value := range d.takes {
				left[n.name+d.gpu+counter] -= value * int64(len(holders))
			}
		}
	}
	for id, amount := range left {
		if amount < 0 {
			t.Fatalf("counter %s is overspent", id)
		}
	}
}
