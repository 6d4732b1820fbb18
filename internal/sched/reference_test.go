package sched_test

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
	"github.com/allot-dev/allot/internal/sched/plan"
)

// The reference tries every device for every shared claim, and every node and device for every
// member.

const gpus = "gpu.example.com"

type gangWorld struct {
	nodes   []*model.Node
	slices  []*model.Slice
	claims  []*model.Claim
	pods    []*model.Pod
	group   *model.Group
	devices []gangDevice
}

type gangDevice struct {
	id      model.DeviceID
	letters string
	nodes   []string // that can use it
}

func letterSelector(letter string) []string {
	if letter == "" {
		return nil
	}
	return []string{fmt.Sprintf(`device.attributes[%q].letters.contains(%q)`, gpus, letter)}
}

func drawGang(t *rapid.T) *gangWorld {
	w := &gangWorld{}
	zones := map[string][]string{}
	var all []string
	for i := range rapid.IntRange(1, 3).Draw(t, "nodes") {
		name, zone := fmt.Sprint("n", i), rapid.SampledFrom([]string{"a", "b"}).Draw(t, "zone")
		all, zones[zone] = append(all, name), append(zones[zone], name)
		w.nodes = append(w.nodes, &model.Node{
			Name: name, Labels: map[string]string{"zone": zone, corev1.LabelHostname: name},
			Allocatable: model.Resources{
				corev1.ResourceCPU:  1000 * rapid.Int64Range(1, 3).Draw(t, "cpu"),
				corev1.ResourcePods: 110,
			},
		})
	}
	for _, node := range all {
		w.drawSlice(t, node, model.Scope{Node: node}, []string{node}, 2)
	}
	if rapid.Bool().Draw(t, "zonal") {
		w.drawSlice(t, "zone-a", model.Scope{Selector: zoneSelector("a")}, zones["a"], 1)
	} else {
		w.drawSlice(t, "everywhere", model.Scope{All: true}, all, 1)
	}
	for i := range 2 {
		w.addClaim(t, fmt.Sprint("shared-", i))
	}
	members := rapid.IntRange(1, 4).Draw(t, "members")
	for i := range members {
		w.drawPod(t, fmt.Sprint("m", i))
	}
	w.group = gang("pg", rapid.Int32Range(1, int32(members)).Draw(t, "min"))
	return w
}

func zoneSelector(zone string) *corev1.NodeSelector {
	return &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: []string{zone}},
		}}},
	}
}

func (w *gangWorld) drawSlice(t *rapid.T, pool string, scope model.Scope, nodes []string, most int) {
	s := &model.Slice{Name: pool, Pool: model.PoolID{Driver: gpus, Pool: pool}, Generation: 1, PoolSlices: 1}
	for i := range rapid.IntRange(0, most).Draw(t, "devices") {
		letters := rapid.SampledFrom([]string{"", "a", "ab"}).Draw(t, "letters")
		s.Devices = append(s.Devices, model.Device{
			Name: fmt.Sprint("d", i), Usage: &model.Usage{Scope: scope},
			Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"letters": {StringValue: &letters}},
		})
		w.devices = append(w.devices,
			gangDevice{id: model.DeviceID{Driver: gpus, Pool: pool, Device: fmt.Sprint("d", i)}, letters: letters, nodes: nodes})
	}
	w.slices = append(w.slices, s)
}

// addClaim creates a claim for one device with a letter.
func (w *gangWorld) addClaim(t *rapid.T, name string) {
	letter := rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "letter")
	w.claims = append(w.claims, &model.Claim{Key: unitKey(false, name).Key, Requests: []model.Request{
		{Name: letter, Alternatives: []model.Alternative{{Class: "gpu", Selectors: letterSelector(letter), Count: 1}}},
	}})
}

func (w *gangWorld) drawPod(t *rapid.T, name string) {
	pod := &core.Pod{ObjectMeta: meta(name)}
	group := "pg"
	pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &group}
	cpu := rapid.SampledFrom([]string{"1", "1", "2"}).Draw(t, "cpu")
	pod.Spec.Containers = []corev1.Container{
		{
			Name:      "c",
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: quantity.MustParse(cpu)}},
		},
	}
	if zone := rapid.SampledFrom([]string{"", "", "a", "b"}).Draw(t, "zone"); zone != "" {
		pod.Spec.NodeSelector = map[string]string{"zone": zone}
	}
	var uses []model.PodClaim
	if shared := rapid.IntRange(-2, 1).Draw(t, "shared"); shared >= 0 {
		uses = append(uses, model.PodClaim{Entry: "s", Claim: fmt.Sprint("shared-", shared), Group: true})
	}
	if rapid.Bool().Draw(t, "own") {
		w.addClaim(t, name)
		uses = append(uses, model.PodClaim{Entry: "o", Claim: name})
	}
	converted, err := model.PodFrom(pod, uses)
	if err != nil {
		t.Fatal(err)
	}
	w.pods = append(w.pods, converted)
}

// state adds everything to a State, in one of many orders.
func (w *gangWorld) state(order []int) *model.State {
	s := model.NewState()
	var puts []func()
	for _, node := range w.nodes {
		puts = append(puts, func() { s.Nodes.Put(node) })
	}
	for _, slice := range w.slices {
		puts = append(puts, func() { s.Devices.PutSlice(slice) })
	}
	for _, claim := range w.claims {
		puts = append(puts, func() { s.Claims.Put(claim) })
	}
	for _, pod := range w.pods {
		puts = append(puts, func() { s.Pods.Put(pod) })
	}
	puts = append(puts, func() { s.Groups.Put(w.group) }, func() { s.Classes.Put(&model.Class{Name: "gpu"}) })
	for i, put := range puts {
		j := order[i%len(order)] % len(puts)
		puts[i], puts[j] = puts[j], put
	}
	for _, put := range puts {
		put()
	}
	return s
}

// trial is the reference's state: which pod is on which node, and which claim has which device.
type trial struct {
	*gangWorld
	free   map[string]int64
	has    map[model.Key]int // claim to device
	taken  map[int]bool
	placed int
}

// maxPlaced returns the maximum number of members from this one on that can be placed, in addition to
// those that are.
func (t *trial) maxPlaced(at int) int {
	if at == len(t.pods) {
		return t.placed
	}
	best := t.maxPlaced(at + 1)
	pod := t.pods[at]
	for _, node := range t.nodes {
		if zone, ok := pod.Shape.NodeSelector["zone"]; ok && zone != node.Labels["zone"] ||
			t.free[node.Name] < pod.Shape.Requests[corev1.ResourceCPU] {
			continue
		}
		t.free[node.Name] -= pod.Shape.Requests[corev1.ResourceCPU]
		t.placed++
		best = max(best, t.allocate(pod.Claims, node.Name, at))
		t.placed--
		t.free[node.Name] += pod.Shape.Requests[corev1.ResourceCPU]
	}
	return best
}

func (t *trial) allocate(uses []model.PodClaim, node string, at int) int {
	if len(uses) == 0 {
		return t.maxPlaced(at + 1)
	}
	key := unitKey(false, uses[0].Claim).Key
	if device, ok := t.has[key]; ok {
		if !slices.Contains(t.devices[device].nodes, node) {
			return 0
		}
		return t.allocate(uses[1:], node, at)
	}
	best := 0
	for d, device := range t.devices {
		if t.taken[d] || !slices.Contains(device.nodes, node) || !t.suits(key, device) {
			continue
		}
		t.has[key], t.taken[d] = d, true
		best = max(best, t.allocate(uses[1:], node, at))
		delete(t.has, key)
		t.taken[d] = false
	}
	return best
}

func (t *trial) suits(key model.Key, device gangDevice) bool {
	at := slices.IndexFunc(t.claims, func(c *model.Claim) bool { return c.Key == key })
	letter := t.claims[at].Requests[0].Name
	return letter == "" || slices.Contains([]byte(device.letters), letter[0])
}

// A gang is placed if and only if it can be, with as many members as possible, and the plan is
// valid, whatever the order in which objects were added to the State.
func TestGangsAgainstReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawGang(t)
		r := &trial{gangWorld: w, free: map[string]int64{}, has: map[model.Key]int{}, taken: map[int]bool{}}
		for _, node := range w.nodes {
			r.free[node.Name] = node.Allocatable[corev1.ResourceCPU]
		}
		most := r.maxPlaced(0)
		order := rapid.SliceOfN(rapid.IntRange(0, 30), 1, 30).Draw(t, "order")
		state := w.state(order)
		before := state.Dump()
		plan, reasons := sched.NewPlacer(state, 1_000_000).Try(unitKey(true, "pg"))
		if state.Dump() != before {
			t.Fatal("the trial has left traces")
		}
		if (plan != nil) != (most >= w.group.MinCount) {
			t.Fatalf("%d of %d can be placed, %d needed; reasons: %v", most, len(w.pods), w.group.MinCount, reasons)
		}
		if plan == nil {
			return
		}
		if w.group.MinCount > 1 && len(plan.Pods) != most {
			t.Fatalf("%d placed, %d can be, %d needed", len(plan.Pods), most, w.group.MinCount)
		}
		if len(plan.Pods) < w.group.MinCount || (len(plan.Pods) == len(w.pods)) != plan.Whole ||
			plan.Whole != (reasons == nil) {
			t.Fatalf("%d of %d placed, %d needed, whole %v, reasons %v", len(plan.Pods), len(w.pods), w.group.MinCount,
				plan.Whole, reasons)
		}
		again, _ := sched.NewPlacer(w.state([]int{0}), 1_000_000).Try(unitKey(true, "pg"))
		if fmt.Sprint(*plan) != fmt.Sprint(*again) && dumpPlan(plan) != dumpPlan(again) {
			t.Fatalf("another order, another plan:\n%s\n%s", dumpPlan(plan), dumpPlan(again))
		}
		w.check(t, state, plan)
	})
}

func dumpPlan(p *plan.Plan) string {
	text := fmt.Sprint(p.Pods)
	for _, claim := range p.Claims {
		text += fmt.Sprintf("\n%s %v %v", claim.Key, claim.Allocation, claim.Reserve)
	}
	return text
}

// check applies the plan to the State and checks the invariants.
func (w *gangWorld) check(t *rapid.T, state *model.State, plan *plan.Plan) {
	plan.Assume(state)
	if err := state.Audit(); err != nil {
		t.Fatal(err)
	}
	for _, info := range state.Nodes.List() {
		if info.Free[corev1.ResourceCPU] < 0 {
			t.Fatalf("node %s has %d cpu", info.Name, info.Free[corev1.ResourceCPU])
		}
	}
	for _, device := range w.devices {
		if holders := state.Devices.Holders(device.id); len(holders) > 1 {
			t.Fatalf("device %s is held by %v", device.id, holders)
		}
	}
	for _, placement := range plan.Pods {
		pod, _ := state.Pods.Get(placement.Pod)
		if pod.Node != placement.Node {
			t.Fatalf("pod %s is on %q", pod.Key, pod.Node)
		}
		for _, use := range pod.Claims {
			w.checkUse(t, state, pod, use)
		}
	}
}

func (w *gangWorld) checkUse(t *rapid.T, state *model.State, pod *model.Pod, use model.PodClaim) {
	claim, _ := state.Claims.Get(unitKey(false, use.Claim).Key)
	if claim.Allocation == nil || len(claim.Allocation.Devices) != 1 || len(claim.Consumers) != 1 ||
		(claim.Consumers[0].Resource == "podgroups") != use.Group {
		t.Fatalf("claim %s of pod %s: %v for %v", claim.Key, pod.Key, claim.Allocation, claim.Consumers)
	}
	r := &trial{gangWorld: w}
	for _, device := range w.devices {
		if device.id == model.DeviceIDOf(claim.Allocation.Devices[0]) &&
			(!slices.Contains(device.nodes, pod.Node) || !r.suits(claim.Key, device)) {
			t.Fatalf("pod %s on %s has device %s", pod.Key, pod.Node, device.id)
		}
	}
}
