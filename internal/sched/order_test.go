package sched_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
)

// The reference tries the members in every order on every node, and examines all pods for each
// rule. Rules are KEY:APP: affinity, anti-affinity or spread by the node label KEY over the pods of
// the application APP.

type orderPod struct {
	name                string
	cpu                 int64
	app                 string
	near, apart, spread string
}

type orderNode struct {
	name   string
	cpu    int64
	labels map[string]string
}

type orderPlace struct {
	pod  *orderPod
	node *orderNode
}

type orderWorld struct {
	nodes    []*orderNode
	members  []*orderPod
	bound    []orderPlace
	min      int32
	topology string
}

func drawOrder(t *rapid.T) *orderWorld {
	w := &orderWorld{topology: rapid.SampledFrom([]string{"", "", "zone"}).Draw(t, "topology")}
	for i := range rapid.IntRange(1, 4).Draw(t, "nodes") {
		n := &orderNode{name: fmt.Sprint("n", i), cpu: rapid.Int64Range(1, 3).Draw(t, "cpu"), labels: map[string]string{}}
		n.labels[corev1.LabelHostname] = n.name
		if zone := rapid.SampledFrom([]string{"a", "b", "b", ""}).Draw(t, "zone"); zone != "" {
			n.labels["zone"] = zone
		}
		w.nodes = append(w.nodes, n)
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "bound") {
		pod := drawOrderPod(t, fmt.Sprint("b", i))
		pod.cpu = 0
		w.bound = append(w.bound, orderPlace{pod, rapid.SampledFrom(w.nodes).Draw(t, "on")})
	}
	for i := range rapid.IntRange(1, 4).Draw(t, "members") {
		w.members = append(w.members, drawOrderPod(t, fmt.Sprint("m", i)))
	}
	w.min = rapid.Int32Range(1, int32(len(w.members))).Draw(t, "min")
	return w
}

func drawOrderPod(t *rapid.T, name string) *orderPod {
	rules := []string{"", "", "", "zone:a", "zone:b", corev1.LabelHostname + ":a"}
	return &orderPod{
		name: name, cpu: rapid.Int64Range(1, 2).Draw(t, "cpu"), app: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "app"),
		near: rapid.SampledFrom(rules).Draw(t, "near"), apart: rapid.SampledFrom(rules).Draw(t, "apart"),
		spread: rapid.SampledFrom(rules).Draw(t, "spread"),
	}
}

func (p *orderPod) model(t *rapid.T, group, node string) *model.Pod {
	pod := &core.Pod{ObjectMeta: meta(p.name)}
	pod.Labels = map[string]string{"app": p.app}
	pod.Spec.NodeName = node
	if group != "" {
		pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &group}
	}
	pod.Spec.Containers = []corev1.Container{
		{Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: *quantity.NewQuantity(p.cpu, quantity.DecimalSI),
		}}},
	}
	term := func(rule string) (terms []corev1.PodAffinityTerm) {
		if key, app, ok := strings.Cut(rule, ":"); ok {
			selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
			terms = append(terms, corev1.PodAffinityTerm{TopologyKey: key, LabelSelector: selector})
		}
		return terms
	}
	pod.Spec.Affinity = &corev1.Affinity{
		PodAffinity:     &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: term(p.near)},
		PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: term(p.apart)},
	}
	for _, term := range term(p.spread) {
		pod.Spec.TopologySpreadConstraints = append(pod.Spec.TopologySpreadConstraints, corev1.TopologySpreadConstraint{
			MaxSkew: 1, TopologyKey: term.TopologyKey, WhenUnsatisfiable: corev1.DoNotSchedule,
			LabelSelector: term.LabelSelector,
		})
	}
	converted, err := model.PodFrom(pod, nil)
	if err != nil {
		t.Fatal(err)
	}
	return converted
}

func (w *orderWorld) state(t *rapid.T) *model.State {
	s := model.NewState()
	for _, n := range w.nodes {
		s.Nodes.Put(
			&model.Node{
				Name:        n.name,
				Labels:      n.labels,
				Allocatable: model.Resources{corev1.ResourceCPU: 1000 * n.cpu, corev1.ResourcePods: 110},
			},
		)
	}
	for _, place := range w.bound {
		s.Pods.Put(place.pod.model(t, "", place.node.name))
	}
	group := gang("pg", w.min)
	group.Topology = w.topology
	s.Groups.Put(group)
	for _, m := range w.members {
		s.Pods.Put(m.model(t, "pg", ""))
	}
	return s
}

// fits reports whether the pod may be placed on the node, given the placed pods.
func (w *orderWorld) fits(pod *orderPod, node *orderNode, there []orderPlace) bool {
	free := node.cpu
	for _, p := range there {
		if p.node == node {
			free -= p.pod.cpu
		}
		if w.topology == "" || strings.HasPrefix(p.pod.name, "b") {
			continue
		}
		if p.node.labels[w.topology] != node.labels[w.topology] {
			return false
		}
	}
	if free < pod.cpu || w.topology != "" && node.labels[w.topology] == "" {
		return false
	}
	for _, p := range there {
		key, app, _ := strings.Cut(p.pod.apart, ":")
		if app == pod.app && node.labels[key] != "" && node.labels[key] == p.node.labels[key] {
			return false
		}
	}
	return w.isNear(pod, node, there) && w.isApart(pod, node, there) && w.isSpread(pod, node, there)
}

// count returns the number of pods of an application in the node's domain, and in all domains.
func count(key, app string, node *orderNode, there []orderPlace) (here, everywhere int) {
	for _, p := range there {
		if p.pod.app == app && p.node.labels[key] != "" {
			everywhere++
			if p.node.labels[key] == node.labels[key] {
				here++
			}
		}
	}
	return here, everywhere
}

func (w *orderWorld) isNear(pod *orderPod, node *orderNode, there []orderPlace) bool {
	key, app, ok := strings.Cut(pod.near, ":")
	here, everywhere := count(key, app, node, there)
	return !ok || node.labels[key] != "" && (here > 0 || everywhere == 0 && pod.app == app)
}

func (w *orderWorld) isApart(pod *orderPod, node *orderNode, there []orderPlace) bool {
	key, app, ok := strings.Cut(pod.apart, ":")
	here, _ := count(key, app, node, there)
	return !ok || here == 0
}

func (w *orderWorld) isSpread(pod *orderPod, node *orderNode, there []orderPlace) bool {
	key, app, ok := strings.Cut(pod.spread, ":")
	if !ok {
		return true
	}
	if node.labels[key] == "" {
		return false
	}
	fewest := 1000
	for _, n := range w.nodes {
		if n.labels[key] != "" {
			here, _ := count(key, app, n, there)
			fewest = min(fewest, here)
		}
	}
	here, _ := count(key, app, node, there)
	if pod.app == app {
		here++
	}
	return here-fewest <= 1
}

// maxPlaced returns the maximum number of members that can be placed, in any order; if on is not nil, it
// limits the nodes of each.
func (w *orderWorld) maxPlaced(there []orderPlace, on map[string]string, seen map[string]bool) int {
	best := len(there) - len(w.bound)
	names := make([]string, len(there))
	for i, p := range there {
		names[i] = p.pod.name + p.node.name
	}
	slices.Sort(names)
	key := strings.Join(names, " ")
	if seen[key] {
		return best
	}
	seen[key] = true
	for _, m := range w.members {
		if slices.ContainsFunc(there, func(p orderPlace) bool { return p.pod == m }) {
			continue
		}
		for _, n := range w.nodes {
			if (on == nil || on[m.name] == n.name) && w.fits(m, n, there) {
				best = max(best, w.maxPlaced(append(slices.Clip(there), orderPlace{m, n}), on, seen))
			}
		}
	}
	return best
}

// A gang of different members is placed if and only if some order places it, with as many members
// as the best order.
func TestMixedGangsAgainstReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawOrder(t)
		most := w.maxPlaced(w.bound, nil, map[string]bool{})
		state := w.state(t)
		before := state.Dump()
		plan, reasons := sched.NewPlacer(state, 1_000_000).Try(unitKey(true, "pg"))
		if state.Dump() != before {
			t.Fatal("the trial has left traces")
		}
		if plan == nil {
			if most >= int(w.min) {
				t.Fatalf("%d of %d can be placed, %d needed; reasons: %v", most, len(w.members), w.min, reasons)
			}
			return
		}
		if len(plan.Pods) < int(w.min) || w.min > 1 && len(plan.Pods) != most {
			t.Fatalf("%d placed, %d needed, %d can be", len(plan.Pods), w.min, most)
		}
		on := map[string]string{}
		for _, p := range plan.Pods {
			on[p.Pod.Name] = p.Node
		}
		if reached := w.maxPlaced(w.bound, on, map[string]bool{}); reached != len(plan.Pods) {
			t.Fatalf("no order leads to %v, %d at most", on, reached)
		}
	})
}
