package sched_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
	"github.com/allot-dev/allot/internal/sched/plan"
)

// keepWorld is a cluster that changes, with a Placer that keeps its caches. The reference is a
// Placer without caches that examines all nodes.
type keepWorld struct {
	state  *model.State
	placer *sched.Placer
	units  []model.UnitKey
	plans  []*plan.Plan
	pods   int
	asked  int

	alike          bool // all pods are equal
	claims, images bool // these pods have claims, or images
}

func (w *keepWorld) putNode(t *rapid.T) {
	node := &model.Node{
		Name: rapid.SampledFrom([]string{"n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7"}).Draw(
			t,
			"node",
		), Labels: map[string]string{},
		Allocatable: model.Resources{
			corev1.ResourceCPU:  1000 * rapid.Int64Range(1, 4).Draw(t, "cpu"),
			corev1.ResourcePods: 110,
		},
	}
	node.Labels[corev1.LabelHostname] = node.Name
	if zone := rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "zone"); zone != "" {
		node.Labels[corev1.LabelTopologyZone] = zone
	}
	if rapid.IntRange(0, 9).Draw(t, "tainted") == 0 {
		node.Taints = []corev1.Taint{
			{Key: "a", Effect: rapid.SampledFrom([]corev1.TaintEffect{"NoSchedule", "PreferNoSchedule"}).Draw(t, "effect")},
		}
	}
	if rapid.Bool().Draw(t, "image") {
		node.Images = []corev1.ContainerImage{{Names: []string{"app:1"}, SizeBytes: 1 << 30}}
	}
	w.state.Nodes.Put(node)
}

func (w *keepWorld) deleteNode(t *rapid.T) {
	w.state.Nodes.Delete(rapid.SampledFrom([]string{"n0", "n1"}).Draw(t, "node"))
}

func (w *keepWorld) putService(t *rapid.T) {
	serves := rapid.SampledFrom([]string{"", "a"}).Draw(t, "serves")
	w.state.Services.Put(&model.Service{Key: unitKey(false, "service").Key, Selector: map[string]string{"app": serves}})
}

// retry tries a unit that may still be waiting.
func (w *keepWorld) retry(t *rapid.T) {
	if len(w.units) > 0 {
		w.try(t, rapid.SampledFrom(w.units).Draw(t, "again"))
	}
}

func (w *keepWorld) putSlice(t *rapid.T) {
	node := rapid.SampledFrom([]string{"n0", "n1", "n2", "n3", "n4", ""}).Draw(t, "node")
	s := slice("pool-"+node, rapid.IntRange(0, 3).Draw(t, "devices"))
	s.Spec.NodeName = &node
	if node == "" {
		all := true
		s.Spec.NodeName, s.Spec.AllNodes = nil, &all
	}
	if rapid.IntRange(0, 9).Draw(t, "counters") == 0 {
		s.Spec.SharedCounters = []resourcev1.CounterSet{
			{Name: "c", Counters: map[string]resourcev1.Counter{"m": {Value: quantity.MustParse("1")}}},
		}
		for i := range s.Spec.Devices {
			s.Spec.Devices[i].ConsumesCounters = []resourcev1.DeviceCounterConsumption{
				{CounterSet: "c", Counters: s.Spec.SharedCounters[0].Counters},
			}
		}
	}
	w.state.Devices.PutSlice(model.SliceFrom(s))
}

func (w *keepWorld) putRule(t *rapid.T) {
	if rapid.Bool().Draw(t, "gone") {
		w.state.TaintRules.Delete("rule")
		return
	}
	w.state.TaintRules.Put(&model.TaintRule{
		Name: "rule", Selects: true, Driver: gpus, Pool: rapid.SampledFrom([]string{"", "pool-", "pool-n0"}).Draw(t, "pool"),
		Taint: resourcev1.DeviceTaint{Key: "k", Effect: resourcev1.DeviceTaintEffectNoSchedule},
	})
}

// putUnit adds a single pod or a gang, whose pods may be equal or not.
func (w *keepWorld) putUnit(t *rapid.T) {
	size := rapid.IntRange(0, 3).Draw(t, "size")
	name := fmt.Sprint("unit-", len(w.units))
	if size == 0 {
		w.putPod(t, name, "")
	} else {
		w.state.Groups.Put(gang(name, int32(rapid.IntRange(1, size).Draw(t, "min"))))
	}
	for i := range size {
		w.putPod(t, fmt.Sprint(name, "-", i), name)
	}
	w.units = append(w.units, unitKey(size > 0, name))
	w.try(t, w.units[len(w.units)-1])
}

func (w *keepWorld) putPod(t *rapid.T, name, group string) {
	pod := &core.Pod{ObjectMeta: meta(name)}
	pod.UID = types.UID(fmt.Sprint("uid-", w.pods))
	pod.Labels = map[string]string{"app": rapid.SampledFrom([]string{"a", "b"}).Draw(t, "app")}
	amounts := corev1.ResourceList{corev1.ResourceCPU: quantity.MustParse("1")}
	pod.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: amounts}}}
	if group != "" {
		pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &group}
	}
	if w.images {
		pod.Spec.Containers[0].Image = "app:1"
	}
	claim := w.claims
	if !w.alike {
		claim = rapid.Bool().Draw(t, "claim")
		makeDifferent(t, pod)
	}
	var uses []model.PodClaim
	if claim {
		claim := bigClaim(name)
		claim.Requests[0].Alternatives[0].Count = rapid.SampledFrom([]int64{1, 1, 1, 2}).Draw(t, "count")
		w.state.Claims.Put(claim)
		uses = append(uses, model.PodClaim{Entry: "g", Claim: name})
	}
	converted, err := model.PodFrom(pod, uses)
	if err != nil {
		t.Fatal(err)
	}
	if rapid.Bool().Draw(t, "replica") {
		converted.Set = "set"
	}
	w.pods++
	w.state.Pods.Put(converted)
}

// makeDifferent makes a pod different from most others.
func makeDifferent(t *rapid.T, pod *core.Pod) {
	container := &pod.Spec.Containers[0]
	if rapid.IntRange(0, 3).Draw(t, "larger") == 0 {
		container.Resources.Requests[corev1.ResourceCPU] = quantity.MustParse("2")
	}
	if rapid.IntRange(0, 3).Draw(t, "image") == 0 {
		container.Image = "app:1"
	}
	if rapid.IntRange(0, 9).Draw(t, "port") == 0 {
		container.Ports = []corev1.ContainerPort{{HostPort: 80, Protocol: corev1.ProtocolTCP}}
	}
	pod.Spec.Affinity = drawAffinity(t)
}

// drawAffinity generates pod affinity; it is nil for most pods.
func drawAffinity(t *rapid.T) *corev1.Affinity {
	term := corev1.PodAffinityTerm{
		TopologyKey:   rapid.SampledFrom([]string{corev1.LabelTopologyZone, corev1.LabelHostname}).Draw(t, "key"),
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}},
	}
	switch rapid.IntRange(0, 15).Draw(t, "affinity") {
	case 0:
		return &corev1.Affinity{
			PodAntiAffinity: &corev1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term},
			},
		}
	case 1:
		return &corev1.Affinity{
			PodAffinity: &corev1.PodAffinity{
				PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{
					{Weight: 1, PodAffinityTerm: term},
				},
			},
		}
	case 2:
		in := corev1.NodeSelectorRequirement{
			Key:      corev1.LabelTopologyZone,
			Operator: corev1.NodeSelectorOpIn,
			Values:   []string{"a"},
		}
		term := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{in}}
		return &corev1.Affinity{
			NodeAffinity: &corev1.NodeAffinity{
				PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 1, Preference: term}},
			},
		}
	case 3:
		in := corev1.NodeSelectorRequirement{
			Key:      corev1.LabelTopologyZone,
			Operator: corev1.NodeSelectorOpNotIn,
			Values:   []string{"a"},
		}
		term := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{in}}
		return &corev1.Affinity{
			NodeAffinity: &corev1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
					NodeSelectorTerms: []corev1.NodeSelectorTerm{term},
				},
			},
		}
	}
	return nil
}

func (w *keepWorld) try(t *rapid.T, key model.UnitKey) {
	before := w.state.Dump()
	plan, reasons := w.placer.Try(key)
	wanted, why := sched.NewPlacer(w.state, sched.DefaultSteps).Try(key)
	if diff := cmp.Diff(wanted, plan); diff != "" {
		t.Fatalf("%s: %s\n%s", key, diff, before)
	}
	if (reasons == nil) != (why == nil) || why != nil && reasons.String() != why.String() {
		t.Fatalf("%s: is %v, should be %v\n%s", key, reasons, why, before)
	}
	if after := w.state.Dump(); after != before {
		t.Fatal(cmp.Diff(before, after))
	}
	if plan == nil {
		return
	}
	w.asked++
	if rapid.IntRange(0, 4).Draw(t, "taken") > 0 {
		plan.Assume(w.state)
		w.plans = append(w.plans, plan)
	}
}

// forget reverts a plan, or ends its pods.
func (w *keepWorld) forget(t *rapid.T) {
	if len(w.plans) == 0 {
		return
	}
	at := rapid.IntRange(0, len(w.plans)-1).Draw(t, "plan")
	plan := w.plans[at]
	w.plans = append(w.plans[:at], w.plans[at+1:]...)
	if rapid.Bool().Draw(t, "refused") {
		plan.Forget(w.state)
		return
	}
	for i := range plan.Pods {
		w.state.Pods.Delete(plan.Pods[i].Pod)
	}
	for i := range plan.Claims {
		w.state.Claims.Delete(plan.Claims[i].Key)
	}
}

// changeImages makes a node report other images, and nothing else.
func (w *keepWorld) changeImages(t *rapid.T) {
	nodes := w.state.Nodes.List()
	if len(nodes) == 0 {
		return
	}
	node := *rapid.SampledFrom(nodes).Draw(t, "puller").Node
	if images := []corev1.ContainerImage{{Names: []string{"app:1"}, SizeBytes: 1 << 30}}; len(node.Images) == 0 {
		node.Images = images
	} else {
		node.Images = nil
	}
	w.state.Nodes.Put(&node)
}

// hold makes another claim hold a device, or release it.
func (w *keepWorld) hold(t *rapid.T) {
	claim := bigClaim("held")
	if pool := rapid.SampledFrom([]string{"", "pool-", "pool-n0", "pool-n1"}).Draw(t, "of"); pool != "" {
		claim.Allocation = &model.Allocation{
			Devices: []resourcev1.DeviceRequestAllocationResult{{Request: "g", Driver: gpus, Pool: pool, Device: "gpu-0"}},
		}
	}
	w.state.Claims.Put(claim)
}

// Decisions do not depend on the caches of a Placer.
func TestDecisionsDoNotDependOnCaches(t *testing.T) {
	placed := 0
	rapid.Check(t, func(t *rapid.T) {
		draw := rapid.Bool()
		w := &keepWorld{
			state:  model.NewState(),
			alike:  draw.Draw(t, "alike"),
			claims: draw.Draw(t, "claims"),
			images: draw.Draw(t, "images"),
		}
		w.placer = sched.NewPlacer(w.state, sched.DefaultSteps)
		w.state.Classes.Put(&model.Class{Name: "gpu"})
		for range rapid.IntRange(1, 8).Draw(t, "nodes") {
			w.putNode(t)
			w.putSlice(t)
		}
		steps := []func(*rapid.T){w.putNode, w.deleteNode, w.changeImages, w.hold, w.putSlice, w.putRule, w.putService}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch step := rapid.IntRange(0, len(steps)+15).Draw(t, "step"); {
			case step < len(steps):
				steps[step](t)
				w.retry(t)
			case step < len(steps)+5:
				w.forget(t)
			default:
				w.putUnit(t)
			}
		}
		if err := w.state.Audit(); err != nil {
			t.Fatal(err)
		}
		placed += w.asked
	})
	if placed == 0 {
		t.Error("nothing was ever placed")
	}
}
