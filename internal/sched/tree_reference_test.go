package sched_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
	"github.com/allot-dev/allot/internal/sched/plan"
	"github.com/allot-dev/allot/internal/sched/preempt"
)

// The reference places a small tree in every possible way: each pod on each node, or on none.

// treeWorld is a tree with the nodes that it may use.
type treeWorld struct {
	nodes []*model.Node
	root  *treeNode
	pods  []*treePod
	// others are pods of lower priority that are on nodes.
	others []*treePod
	// devices are shared devices, each of which can be used from all nodes with the label.
	devices []treeDevice
}

// treeNode is a CompositePodGroup, or a PodGroup if it has pods.
type treeNode struct {
	name, label string
	least       int  // children or pods
	claims      bool // whether all pods below share a claim of one device
	children    []*treeNode
	pods        []*treePod
}

type treePod struct {
	key  model.Key
	cpu  int64
	node int // -1: none
}

const thousandth = 1000

func drawTree(r *rand.Rand) *treeWorld {
	w := &treeWorld{}
	for i := range 1 + r.IntN(4) {
		zone := r.IntN(2)
		labels := map[string]string{"zone": fmt.Sprint(zone), "rack": fmt.Sprintf("%d-%d", zone, r.IntN(2))}
		if r.IntN(8) == 0 {
			delete(labels, "rack")
		}
		w.nodes = append(w.nodes, &model.Node{
			Name: fmt.Sprint("n", i), Labels: labels,
			Allocatable: model.Resources{corev1.ResourceCPU: thousandth * int64(1+r.IntN(3)), corev1.ResourcePods: 110},
		})
	}
	w.root = w.drawComposite(r, "root", 0)
	return w
}

func (w *treeWorld) drawComposite(r *rand.Rand, name string, level int) *treeNode {
	n := &treeNode{name: name, label: drawLabel(r)}
	for i := range 1 + r.IntN(3) {
		child := fmt.Sprint(name, "-", i)
		if level == 0 && r.IntN(3) == 0 {
			n.children = append(n.children, w.drawComposite(r, child, level+1))
		} else {
			n.children = append(n.children, w.drawGroup(r, child))
		}
	}
	n.least = 1 + r.IntN(len(n.children))
	return n
}

func (w *treeWorld) drawGroup(r *rand.Rand, name string) *treeNode {
	n := &treeNode{name: name, label: drawLabel(r)}
	pods := 1
	if len(w.pods) < maxTreePods {
		pods = 1 + r.IntN(2)
	}
	for i := range pods {
		key := model.Key{Namespace: "default", Name: fmt.Sprint(name, "-p", i)}
		pod := &treePod{key: key, cpu: int64(1 + r.IntN(2)), node: -1}
		n.pods, w.pods = append(n.pods, pod), append(w.pods, pod)
	}
	n.least = 1 + r.IntN(pods)
	return n
}

const maxTreePods = 4

func drawLabel(r *rand.Rand) string { return []string{"", "", "zone", "rack"}[r.IntN(4)] }

// state puts everything into a State.
func (w *treeWorld) state(t *testing.T) *model.State {
	s := model.NewState()
	for _, node := range w.nodes {
		s.Nodes.Put(node)
	}
	w.putDevices(s)
	w.put(t, s, w.root, "", nil)
	return s
}

// put puts a part of the tree; claims are those of the groups above it.
func (w *treeWorld) put(t *testing.T, s *model.State, n *treeNode, parent string, claims []string) {
	key := model.Key{Namespace: "default", Name: n.name}
	uid := types.UID("uid-" + n.name)
	if n.claims {
		claims = append(slices.Clip(claims), n.claim())
		w.putClaim(s, n, uid)
	}
	if n.pods == nil {
		s.Groups.Composites.Put(&model.Composite{
			Key: key, UID: uid, Parent: parent, Gang: true, MinGroups: n.least, Topology: n.label, Priority: ptr.To[int32](1),
		})
		for _, child := range n.children {
			w.put(t, s, child, n.name, claims)
		}
		return
	}
	s.Groups.Put(&model.Group{Key: key, UID: uid, Parent: parent, Gang: true, MinCount: n.least, Topology: n.label})
	uses := make([]model.PodClaim, 0, len(claims))
	for _, claim := range claims {
		uses = append(uses, model.PodClaim{Entry: claim, Claim: claim, Group: true, Owner: uid})
	}
	for _, p := range n.pods {
		w.putPod(t, s, p, &corev1.PodSchedulingGroup{PodGroupName: ptr.To(n.name)}, uses...)
	}
}

func (w *treeWorld) putPod(
	t *testing.T, s *model.State, p *treePod, group *corev1.PodSchedulingGroup, claims ...model.PodClaim,
) {
	pod := &core.Pod{ObjectMeta: meta(p.key.Name)}
	pod.Spec.SchedulingGroup = group
	if p.node >= 0 {
		pod.Spec.NodeName = w.nodes[p.node].Name
	}
	pod.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: *quantity.NewQuantity(p.cpu, quantity.DecimalSI)},
	}}}
	converted, err := model.PodFrom(pod, claims)
	if err != nil {
		t.Fatal(err)
	}
	s.Pods.Put(converted)
}

// occupy puts pods of lower priority on nodes.
func (w *treeWorld) occupy(t *testing.T, r *rand.Rand, s *model.State) {
	for node, free := range w.free() {
		for free > 0 && r.IntN(4) > 0 {
			other := &treePod{
				key: model.Key{Namespace: "default", Name: fmt.Sprint("other-", len(w.others))},
				cpu: 1 + r.Int64N(free), node: node,
			}
			free -= other.cpu
			w.others = append(w.others, other)
			w.putPod(t, s, other, nil)
		}
	}
}

// feasible reports whether some assignment of the pods from this index on makes the tree valid.
func (w *treeWorld) feasible(at int, free []int64) bool {
	if at == len(w.pods) {
		_, placed, ok := w.check(w.root)
		return ok && placed && w.hasDevices(w.root.claimants(nil), make([]bool, len(w.devices)))
	}
	p := w.pods[at]
	for node := range free {
		if free[node] >= p.cpu {
			p.node = node
			free[node] -= p.cpu
			found := w.feasible(at+1, free)
			free[node] += p.cpu
			if found {
				return true
			}
		}
	}
	p.node = -1
	return w.feasible(at+1, free)
}

func (w *treeWorld) free() []int64 {
	free := make([]int64, len(w.nodes))
	for i, node := range w.nodes {
		free[i] = node.Allocatable[corev1.ResourceCPU] / thousandth
	}
	for _, p := range w.others {
		free[p.node] -= p.cpu
	}
	return free
}

// check returns the nodes of the pods below, whether enough of them have one, and whether every
// group with pods on nodes is complete and in one domain.
func (w *treeWorld) check(n *treeNode) (on []int, placed, ok bool) {
	enough, ok := 0, true
	for _, p := range n.pods {
		if p.node >= 0 {
			on = append(on, p.node)
			enough++
		}
	}
	for _, child := range n.children {
		below, whole, valid := w.check(child)
		on, ok = append(on, below...), ok && valid
		if whole {
			enough++
		}
	}
	placed = enough >= n.least
	ok = ok && (placed || len(on) == 0)
	for _, node := range on {
		value, has := w.nodes[node].Labels[n.label]
		if n.label != "" && (!has || value != w.nodes[on[0]].Labels[n.label]) {
			ok = false
		}
	}
	return on, placed, ok
}

// invalidPlan returns why a plan is not valid, or "".
func (w *treeWorld) invalidPlan(made *plan.Plan) string {
	free := w.free()
	for _, p := range w.pods {
		p.node = -1
	}
	for _, placed := range made.Pods {
		p := w.pods[slices.IndexFunc(w.pods, func(p *treePod) bool { return p.key == placed.Pod })]
		p.node = slices.IndexFunc(w.nodes, func(n *model.Node) bool { return n.Name == placed.Node })
		if free[p.node] -= p.cpu; free[p.node] < 0 {
			return "node " + placed.Node + " has more than it can"
		}
	}
	if _, placed, ok := w.check(w.root); !ok || !placed {
		return "half a tree, or one in several domains"
	}
	return w.soundDevices(made)
}

// TestTreesAgainstReference checks that a tree is placed if and only if there is a way, and then
// with all its required pods.
func TestTreesAgainstReference(t *testing.T) {
	worlds := uint64(10_000)
	if testing.Short() {
		worlds = 500
	}
	compareTrees(t, worlds, func(seed uint64) *treeWorld { return drawTree(rand.New(rand.NewPCG(seed, 16))) })
}

// compareTrees places drawn trees, and compares with the reference.
func compareTrees(t *testing.T, worlds uint64, draw func(seed uint64) *treeWorld) {
	t.Helper()
	undecided, placed := 0, 0
	for seed := range worlds {
		w := draw(seed)
		state := w.state(t)
		before := state.Dump()
		key := model.UnitKey{Tree: true, Key: model.Key{Namespace: "default", Name: "root"}}
		made, reasons := sched.NewPlacer(state, sched.DefaultSteps).Try(key)
		if state.Dump() != before {
			t.Fatalf("seed %d: the trial has left traces", seed)
		}
		feasible := w.feasible(0, w.free())
		switch {
		case made != nil:
			placed++
			if fault := w.invalidPlan(made); fault != "" {
				t.Errorf("seed %d: %s: %v", seed, fault, made.Pods)
			}
		case reasons.Code == sched.CodeUndecided:
			undecided++
		case feasible:
			t.Errorf("seed %d: not placed, and there is a way: %s", seed, reasons)
		}
		if made != nil && !feasible {
			t.Errorf("seed %d: placed, and there is no way", seed)
		}
	}
	if undecided > 0 {
		t.Errorf("%d trees are undecided", undecided)
	}
	if placed < int(worlds)/4 || placed > int(worlds)*9/10 {
		t.Errorf("%d of %d trees are placed: the worlds do not tell good from bad", placed, worlds)
	}
}

// TestTreesPreemptAgainstReference checks that a tree preempts if and only if it could be placed
// without all pods of lower priority, and that it is then placed without the victims, each of which
// is necessary.
func TestTreesPreemptAgainstReference(t *testing.T) {
	worlds := uint64(2000)
	if testing.Short() {
		worlds = 200
	}
	preempted := 0
	for seed := range worlds {
		r := rand.New(rand.NewPCG(seed, 17))
		w := drawTree(r)
		state := w.state(t)
		w.occupy(t, r, state)
		placer := sched.NewPlacer(state, sched.DefaultSteps)
		unit, _ := state.Unit(treeKey("root"))
		if made, reasons := placer.Place(unit); made == nil && reasons.Code == sched.CodeUnschedulable {
			result := placer.Preempt(unit, reasons, preempt.Input{})
			if result != nil {
				preempted++
			}
			if fault := w.invalidPreemption(result); fault != "" {
				t.Errorf("seed %d: %s", seed, fault)
			}
		}
	}
	if preempted < int(worlds)/10 {
		t.Errorf("%d of %d trees preempt: the worlds do not tell good from bad", preempted, worlds)
	}
}

// invalidPreemption returns why the result of a preemption is not right, or "".
func (w *treeWorld) invalidPreemption(result *preempt.Result) string {
	others := w.others
	defer func() { w.others = others }()
	if result == nil {
		if w.others = nil; w.feasible(0, w.free()) {
			return "does not preempt, and there is a way"
		}
		return ""
	}
	victims := map[model.Key]bool{}
	for _, v := range result.Victims {
		for _, pod := range v.Pods {
			victims[pod.Key] = true
		}
	}
	stay := func(except model.Key) []*treePod {
		return slices.DeleteFunc(slices.Clone(others), func(p *treePod) bool { return victims[p.key] && p.key != except })
	}
	w.others = stay(model.Key{})
	if fault := w.invalidPlan(result.Plan); fault != "" {
		return fault
	}
	for key := range victims {
		if w.others = stay(key); w.feasible(0, w.free()) {
			return "victim " + key.Name + " is not needed"
		}
	}
	return ""
}
