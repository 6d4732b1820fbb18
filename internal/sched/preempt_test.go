package sched_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
	"github.com/allot-dev/allot/internal/sched/preempt"
)

// The reference removes every set of units of lower priority from a new State, and places the unit
// in it.

type preemptionWorld struct {
	nodes   []*model.Node
	slices  []*model.Slice
	groups  []*model.Group
	claims  []*model.Claim
	pods    []*model.Pod
	units   map[string]int32 // priority by name of each unit that is evicted as a whole
	of      map[types.UID]string
	waiting model.UnitKey

	free    map[string]int64 // cpus
	devices []*preemptionDevice
}

type preemptionDevice struct {
	id   model.DeviceID
	node string // "" for any
	used bool
}

func drawCrowd(t *rapid.T) *preemptionWorld {
	w := &preemptionWorld{units: map[string]int32{}, of: map[types.UID]string{}, free: map[string]int64{}}
	for i := range rapid.IntRange(1, 3).Draw(t, "nodes") {
		name := fmt.Sprint("n", i)
		cpus := rapid.Int64Range(1, 4).Draw(t, "cpus")
		w.free[name] = cpus
		w.nodes = append(w.nodes, &model.Node{
			Name: name, Labels: map[string]string{corev1.LabelHostname: name},
			Allocatable: model.Resources{corev1.ResourceCPU: 1000 * cpus, corev1.ResourcePods: 110},
		})
		w.addDevices(t, name, model.Scope{Node: name}, name)
	}
	w.addDevices(t, "fabric", model.Scope{All: true}, "")
	for i := range rapid.IntRange(1, 5).Draw(t, "units") {
		w.drawUnit(t, fmt.Sprint("u", i))
	}
	w.drawWaiting(t)
	return w
}

func (w *preemptionWorld) addDevices(t *rapid.T, pool string, scope model.Scope, node string) {
	s := &model.Slice{Name: pool, Pool: model.PoolID{Driver: gpus, Pool: pool}, Generation: 1, PoolSlices: 1}
	for i := range rapid.IntRange(0, 2).Draw(t, "devices") {
		name := fmt.Sprint("d", i)
		s.Devices = append(s.Devices, model.Device{Name: name, Usage: &model.Usage{Scope: scope}})
		id := model.DeviceID{Driver: gpus, Pool: pool, Device: name}
		w.devices = append(w.devices, &preemptionDevice{id: id, node: node})
	}
	w.slices = append(w.slices, s)
}

// drawUnit adds running pods, as far as there are resources: a pod, two that share a claim, or a
// group that is evicted as a whole.
func (w *preemptionWorld) drawUnit(t *rapid.T, name string) {
	priority := rapid.Int32Range(0, 3).Draw(t, "priority")
	device := rapid.Bool().Draw(t, "device")
	switch kind := rapid.SampledFrom([]string{"pod", "pod", "pair", "gang", "whole", "loose",
		"foreign"}).Draw(t, "kind"); kind {
	case "pod":
		if pod := w.run(t, name, "", priority); pod != nil && device {
			w.hold(name, pod.Node, []*model.Pod{pod}, model.PodConsumer(pod.Key.Name, pod.UID))
		}
	case "pair":
		a, b := w.run(t, name+"-a", "", priority), w.run(t, name+"-b", "", rapid.Int32Range(0, 3).Draw(t, "priority"))
		if a != nil && b != nil && a.Node == b.Node {
			w.hold(name, a.Node, []*model.Pod{a, b}, model.PodConsumer(a.Key.Name, a.UID), model.PodConsumer(b.Key.Name, b.UID))
		}
	case "gang", "whole", "loose":
		group := gang(name, 2)
		group.Priority, group.Whole, group.Scheduled = &priority, kind == "whole", true
		if kind != "gang" {
			group.Gang, group.MinCount = false, 0
		}
		var pods []*model.Pod
		for i := range 2 {
			if pod := w.run(t, fmt.Sprint(name, "-", i), name, rapid.Int32Range(0, 3).Draw(t, "own priority")); pod != nil {
				pods = append(pods, pod)
			}
		}
		w.groups = append(w.groups, group)
		if w.units[name] = priority; kind == "loose" && len(pods) > 0 {
			delete(w.units, name)
			for _, pod := range pods {
				w.units[pod.Key.Name], w.of[pod.UID] = priority, pod.Key.Name
			}
		}
		if device && len(pods) > 0 {
			w.hold(name, pods[0].Node, pods, model.GroupConsumer(name, group.UID))
		}
	default:
		if pod := w.run(t, name, "", priority); pod != nil {
			w.hold(name, pod.Node, []*model.Pod{pod}, model.Consumer{APIGroup: "batch", Resource: "jobs", Name: "j", UID: "j"})
		}
	}
}

// run puts a pod on a node with enough resources, and returns nil if there is none.
func (w *preemptionWorld) run(t *rapid.T, name, group string, priority int32) *model.Pod {
	cpus := rapid.Int64Range(1, 2).Draw(t, "cpus")
	for _, node := range w.nodes {
		if w.free[node.Name] < cpus || rapid.IntRange(0, 3).Draw(t, "elsewhere") == 0 {
			continue
		}
		w.free[node.Name] -= cpus
		pod := w.pod(t, name, group, priority, cpus)
		pod.Node = node.Name
		if unit := group; unit == "" {
			w.units[name], w.of[pod.UID] = priority, name
		} else {
			w.of[pod.UID] = group
		}
		w.pods = append(w.pods, pod)
		return pod
	}
	return nil
}

func (w *preemptionWorld) pod(t *rapid.T, name, group string, priority int32, cpus int64) *model.Pod {
	pod := &core.Pod{ObjectMeta: meta(name)}
	pod.Spec.Priority = &priority
	if group != "" {
		pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &group}
	}
	requests := corev1.ResourceList{corev1.ResourceCPU: *quantity.NewQuantity(cpus, quantity.DecimalSI)}
	pod.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: requests}}}
	converted, err := model.PodFrom(pod, nil)
	if err != nil {
		t.Fatal(err)
	}
	return converted
}

// hold gives pods a claim with a free device of their node, or of the fabric, if there is one.
func (w *preemptionWorld) hold(name, node string, pods []*model.Pod, consumers ...model.Consumer) {
	for _, device := range w.devices {
		local := slices.ContainsFunc(pods, func(pod *model.Pod) bool { return pod.Node != node })
		if device.used || device.node != "" && (device.node != node || local) {
			continue
		}
		device.used = true
		result := resourcev1.DeviceRequestAllocationResult{
			Request: "r",
			Driver:  gpus,
			Pool:    device.id.Pool,
			Device:  device.id.Device,
		}
		claim := w.claim(name)
		claim.Allocation = &model.Allocation{Devices: []resourcev1.DeviceRequestAllocationResult{result}}
		if device.node != "" {
			claim.Allocation.NodeSelector = nodeSelector(device.node)
		}
		claim.Consumers = consumers
		for _, pod := range pods {
			pod.Claims = []model.PodClaim{{Entry: "c", Claim: name, Group: pod.Group != ""}}
		}
		return
	}
}

func (w *preemptionWorld) claim(name string) *model.Claim {
	claim := &model.Claim{
		Key: unitKey(false, name).Key, UID: types.UID("claim-" + name),
		Requests: []model.Request{{Name: "r", Alternatives: []model.Alternative{{Class: "gpu", Count: 1}}}},
	}
	w.claims = append(w.claims, claim)
	return claim
}

func nodeSelector(node string) *corev1.NodeSelector {
	return &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{
			{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{node}},
		}}},
	}
}

// drawWaiting adds the preemptor: a pod, or a gang of two that may share a claim.
func (w *preemptionWorld) drawWaiting(t *rapid.T) {
	priority, members, group := rapid.Int32Range(1, 4).Draw(t, "waiting priority"), 1, ""
	w.waiting = unitKey(false, "w-0")
	if rapid.Bool().Draw(t, "gang waits") {
		members, group, w.waiting = 2, "w", unitKey(true, "w")
		waiting := gang("w", 2)
		waiting.Priority = &priority
		w.groups = append(w.groups, waiting)
	}
	cpus := rapid.Int64Range(1, 2).Draw(t, "waiting cpus")
	claims := rapid.SampledFrom([]string{"", "own", "shared"}).Draw(t, "waiting claims")
	for i := range members {
		pod := w.pod(t, fmt.Sprint("w-", i), group, priority, cpus)
		switch {
		case claims == "shared" && group != "":
			pod.Claims = []model.PodClaim{{Entry: "c", Claim: "w", Group: true}}
		case claims != "":
			pod.Claims = []model.PodClaim{{Entry: "c", Claim: pod.Key.Name}}
			w.claim(pod.Key.Name)
		}
		w.pods = append(w.pods, pod)
	}
	if claims == "shared" && group != "" {
		w.claim("w")
	}
}

// stateWithout returns a State without some units, and without the claims that are then unused.
func (w *preemptionWorld) stateWithout(gone map[string]bool) *model.State {
	s := model.NewState()
	s.Classes.Put(&model.Class{Name: "gpu"})
	for _, node := range w.nodes {
		s.Nodes.Put(node)
	}
	for _, slice := range w.slices {
		s.Devices.PutSlice(slice)
	}
	for _, group := range w.groups {
		s.Groups.Put(group)
	}
	for _, claim := range w.claims {
		left := *claim
		left.Consumers = slices.DeleteFunc(slices.Clone(claim.Consumers), func(c model.Consumer) bool {
			return gone[w.of[c.UID]] || c.Resource == "podgroups" && (gone[c.Name] || w.isEmptied(c.Name, gone))
		})
		if len(left.Consumers) == 0 {
			left.Allocation = nil
		}
		s.Claims.Put(&left)
	}
	for _, pod := range w.pods {
		if !gone[w.of[pod.UID]] {
			s.Pods.Put(pod)
		}
	}
	return s
}

// isEmptied reports whether a group had pods and has lost all of them.
func (w *preemptionWorld) isEmptied(group string, gone map[string]bool) bool {
	had := false
	for _, pod := range w.pods {
		if pod.Group == group && pod.Node != "" {
			if had = true; !gone[w.of[pod.UID]] {
				return false
			}
		}
	}
	return had
}

func (w *preemptionWorld) fits(gone map[string]bool) bool {
	plan, _ := sched.NewPlacer(w.stateWithout(gone), 1_000_000).Try(w.waiting)
	return plan != nil
}

// subsets calls f with each subset of the names.
func subsets(names []string, f func(map[string]bool)) {
	for bits := range 1 << len(names) {
		set := map[string]bool{}
		for i, name := range names {
			if bits&(1<<i) != 0 {
				set[name] = true
			}
		}
		f(set)
	}
}

// Preemption succeeds if and only if evicting units of lower priority suffices. Then none of the
// victims could be reprieved, and the victim of highest priority could not be replaced by one of
// lower priority.
func TestPreemptionAgainstReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawCrowd(t)
		state := w.stateWithout(nil)
		placer := sched.NewPlacer(state, 1_000_000)
		unit, _ := state.Unit(w.waiting)
		plan, reasons := placer.Place(unit)
		if plan != nil {
			return
		}
		before := state.Dump()
		made := placer.Preempt(unit, reasons, preempt.Input{})
		if state.Dump() != before {
			t.Fatal("the trial has left traces")
		}
		lower := slices.DeleteFunc(slices.Sorted(maps.Keys(w.units)),
			func(name string) bool { return w.units[name] >= unit.Priority })
		least := int32(math.MaxInt32)
		subsets(lower, func(gone map[string]bool) {
			if !w.fits(gone) {
				return
			}
			highest := int32(math.MinInt32)
			for name := range gone {
				highest = max(highest, w.units[name])
			}
			least = min(least, highest)
		})
		if made == nil {
			if least != math.MaxInt32 {
				t.Fatalf("room could be made for %s: %s", unit.Key, reasons)
			}
			return
		}
		w.checkVictims(t, unit, made, least)
	})
}

func (w *preemptionWorld) checkVictims(t *rapid.T, unit *model.Unit, made *preempt.Result, least int32) {
	gone, evicted := map[string]bool{}, map[types.UID]bool{}
	highest := int32(math.MinInt32)
	for _, victim := range made.Victims {
		for _, pod := range victim.Pods {
			gone[w.of[pod.UID]], evicted[pod.UID] = true, true
		}
	}
	for _, reclaim := range made.Reclaims {
		if name := reclaim.Consumers[0].Name; !w.isEmptied(name, gone) {
			gone[name] = true
		}
	}
	for name := range gone {
		highest = max(highest, w.units[name])
	}
	for _, pod := range w.pods {
		if gone[w.of[pod.UID]] && !evicted[pod.UID] {
			t.Fatalf("pod %s stays, others of %s leave", pod.Key.Name, w.of[pod.UID])
		}
	}
	if highest >= unit.Priority || highest != least {
		t.Fatalf("%v leave: the highest priority is %d, and could be %d", gone, highest, least)
	}
	subsets(slices.Sorted(maps.Keys(gone)), func(some map[string]bool) {
		if fits := w.fits(some); fits != (len(some) == len(gone)) {
			t.Fatalf("%v leave, and with %v gone the unit fits: %v", gone, some, fits)
		}
	})
}
