package sched_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
	"github.com/allot-dev/allot/internal/sched/preempt"
)

// preemptionCluster is a cluster with more nodes than preemption compares. Each is full of pods, some of which
// have a device, or a disruption budget that is used up; and one pod waits for cpu and maybe for a
// device.
type preemptionCluster struct {
	nodes   []*model.Node
	on      map[string][]*model.Pod
	claims  map[string][]*model.Claim // of pods on the node
	slices  map[string]*model.Slice
	waiting *model.Pod
	wanted  *model.Claim // nil: no device
}

func drawHall(t *rapid.T) *preemptionCluster {
	h := &preemptionCluster{
		on: map[string][]*model.Pod{}, claims: map[string][]*model.Claim{}, slices: map[string]*model.Slice{},
	}
	devices := rapid.IntRange(0, 2).Draw(t, "devices of a node")
	lowest := rapid.Int32Range(0, 3).Draw(t, "lowest") // so that few pods have the lowest priority
	guard := rapid.IntRange(0, 10).Draw(t, "tenths under the budget")
	for i := range rapid.IntRange(17, 40).Draw(t, "nodes") {
		name := fmt.Sprintf("n%02d", i)
		h.nodes = append(h.nodes,
			&model.Node{Name: name, Allocatable: model.Resources{corev1.ResourceCPU: 4, corev1.ResourcePods: 110}})
		if devices > 0 {
			h.slices[name] = model.SliceFrom(slice(name, devices))
		}
		h.fill(t, name, devices, lowest, guard)
	}
	h.waiting = h.pod("w", 5, rapid.Int64Range(1, 4).Draw(t, "wanted"), false)
	if devices > 0 && rapid.Bool().Draw(t, "wants a device") {
		h.wanted = bigClaim("w")
		h.waiting.Claims = []model.PodClaim{{Entry: "c", Claim: "w"}}
	}
	return h
}

func (c *preemptionCluster) fill(t *rapid.T, node string, devices int, lowest int32, guard int) {
	for free := int64(4); free > 0; {
		name := fmt.Sprintf("%s-%d", node, len(c.on[node]))
		cpus := min(free, rapid.Int64Range(1, 4).Draw(t, "cpus"))
		priority := max(lowest, rapid.Int32Range(0, 4).Draw(t, "priority"))
		if rapid.IntRange(0, 20).Draw(t, "matters little") == 0 {
			priority = 0
		}
		pod := c.pod(name, priority, cpus, rapid.IntRange(1, 10).Draw(t, "guarded") <= guard)
		pod.Node, pod.Started = node, time.Unix(rapid.Int64Range(0, 3).Draw(t, "started"), 0)
		c.on[node] = append(c.on[node], pod)
		if free -= cpus; len(c.claims[node]) == devices || rapid.Bool().Draw(t, "no device") {
			continue
		}
		claim := bigClaim(name)
		claim.Allocation = &model.Allocation{
			NodeSelector: nodeSelector(node),
			Devices: []resourcev1.DeviceRequestAllocationResult{
				{Request: "g", Driver: "gpu.example.com", Pool: node, Device: fmt.Sprint("gpu-", len(c.claims[node]))},
			},
		}
		claim.Consumers = []model.Consumer{model.PodConsumer(name, pod.UID)}
		pod.Claims = []model.PodClaim{{Entry: "c", Claim: name}}
		c.claims[node] = append(c.claims[node], claim)
	}
}

func (c *preemptionCluster) pod(name string, priority int32, cpus int64, guarded bool) *model.Pod {
	shape := &model.Shape{
		ID:        fmt.Sprint(cpus),
		Namespace: "default",
		Requests:  model.Resources{corev1.ResourceCPU: cpus, corev1.ResourcePods: 1},
	}
	if guarded {
		shape.Labels = map[string]string{"guarded": "yes"}
	}
	return &model.Pod{Key: unitKey(false, name).Key, UID: types.UID("uid-" + name), Priority: priority, Shape: shape}
}

// preempt searches for victims on some of the nodes only.
func (c *preemptionCluster) preempt(t *rapid.T, nodes []*model.Node) *preempt.Result {
	s := model.NewState()
	s.Classes.Put(&model.Class{Name: "gpu"})
	s.Budgets.Put(
		&model.Budget{Key: unitKey(false, "used-up").Key, Selector: labels.SelectorFromSet(labels.Set{"guarded": "yes"})},
	)
	for _, node := range nodes {
		s.Nodes.Put(node)
		if devices := c.slices[node.Name]; devices != nil {
			s.Devices.PutSlice(devices)
		}
		for _, claim := range c.claims[node.Name] {
			s.Claims.Put(claim)
		}
		for _, pod := range c.on[node.Name] {
			s.Pods.Put(pod)
		}
	}
	if c.wanted != nil {
		s.Claims.Put(c.wanted)
	}
	s.Pods.Put(c.waiting)
	unit, _ := s.Unit(unitKey(false, "w"))
	placer := sched.NewPlacer(s, 1_000_000)
	plan, reasons := placer.Place(unit)
	if plan != nil {
		t.Skip("there is room")
	}
	return placer.Preempt(unit, reasons, preempt.Input{})
}

// victimHarm is what compares sets of victims: first the number of violated budgets, then the highest
// priority, the number, the sum of the priorities, and the start time of the victim of highest
// priority.
type victimHarm struct {
	violations int
	highest    int32
	pods       int
	sum        int64
	started    time.Time
}

func (h victimHarm) compare(b victimHarm) int {
	return cmp.Or(cmp.Compare(h.violations, b.violations), cmp.Compare(h.highest, b.highest),
		cmp.Compare(h.pods, b.pods), cmp.Compare(h.sum, b.sum), b.started.Compare(h.started))
}

func harmOf(pods []*model.Pod) victimHarm {
	a := victimHarm{highest: math.MinInt32}
	for _, pod := range pods {
		if pod.Shape.Labels != nil {
			a.violations++
		}
		a.pods++
		a.sum += int64(pod.Priority)
		if pod.Priority > a.highest || pod.Priority == a.highest && pod.Started.Before(a.started) {
			a.highest, a.started = pod.Priority, pod.Started
		}
	}
	return a
}

func harmOfPreemption(made *preempt.Result) victimHarm {
	var pods []*model.Pod
	for _, victim := range made.Victims {
		pods = append(pods, victim.Pods...)
	}
	return harmOf(pods)
}

// leastHarm returns, of all sets of pods whose eviction makes the pod fit on a node, one that violates
// no budget if there is one, and then has the lowest highest priority.
func (c *preemptionCluster) leastHarm(node string) (least victimHarm, ok bool) {
	pods := c.on[node]
	for bits := range 1 << len(pods) {
		var gone []*model.Pod
		cpus, devices := int64(0), 0
		if s := c.slices[node]; s != nil {
			devices = len(s.Devices) - len(c.claims[node])
		}
		for i, pod := range pods {
			if bits&(1<<i) != 0 {
				gone = append(gone, pod)
				cpus += pod.Shape.Requests[corev1.ResourceCPU]
				devices += len(pod.Claims)
			}
		}
		if cpus < c.waiting.Shape.Requests[corev1.ResourceCPU] || c.wanted != nil && devices < 1 {
			continue
		}
		harm := harmOf(gone)
		harm.violations = min(harm.violations, 1)
		if !ok || cmp.Or(cmp.Compare(harm.violations, least.violations), cmp.Compare(harm.highest, least.highest)) < 0 {
			least, ok = harm, true
		}
	}
	return least, ok
}

// The victims are the best of all nodes: no node alone has better ones, and if no budget must be
// violated, no set of pods on any node has a lower highest priority without violating one.
func TestPreemptionChoosesAmongAllNodes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := drawHall(t)
		made := h.preempt(t, h.nodes)
		var best *victimHarm
		for _, node := range h.nodes {
			least, ok := h.leastHarm(node.Name)
			if ok &&
				(best == nil || cmp.Or(cmp.Compare(least.violations, best.violations),
					cmp.Compare(least.highest, best.highest)) < 0) {
				best = &least
			}
		}
		if made == nil || best == nil {
			if (made == nil) != (best == nil) {
				t.Fatalf("room is made: %v, and could be: %v", made != nil, best != nil)
			}
			return
		}
		chosen := harmOfPreemption(made)
		if min(chosen.violations, 1) != best.violations || best.violations == 0 && chosen.highest != best.highest {
			t.Fatalf("%+v leave, and %+v would be enough", chosen, *best)
		}
		for i := range h.nodes {
			if alone := h.preempt(t, slices.Clone(h.nodes[i:i+1])); alone != nil && harmOfPreemption(alone).compare(chosen) < 0 {
				t.Fatalf("%+v leave, and on node %s it would be %+v", chosen, h.nodes[i].Name, harmOfPreemption(alone))
			}
		}
	})
}
