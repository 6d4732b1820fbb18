package sched_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/plan"
)

// treeDevice is a shared device, such as an NVLink partition. A level of a tree whose claim is
// allocated it is restricted to the nodes with the label, in place of a topology constraint.
type treeDevice struct{ label, value string }

// drawDevices generates shared devices, and which levels have claims for one.
func (w *treeWorld) drawDevices(r *rand.Rand) {
	for range 1 + r.IntN(4) {
		node := w.nodes[r.IntN(len(w.nodes))]
		label := []string{"zone", "rack", corev1.LabelHostname}[r.IntN(3)]
		if value, ok := node.Labels[label]; ok {
			w.devices = append(w.devices, treeDevice{label, value})
		}
	}
	var draw func(n *treeNode, chance int)
	draw = func(n *treeNode, chance int) {
		n.claims = r.IntN(chance) == 0
		for _, child := range n.children {
			draw(child, 3)
		}
	}
	draw(w.root, 2)
}

func (w *treeWorld) putDevices(s *model.State) {
	if len(w.devices) == 0 {
		return
	}
	s.Classes.Put(model.ClassFrom(&resourcev1.DeviceClass{ObjectMeta: meta("part")}))
	parts := &resourcev1.ResourceSlice{ObjectMeta: meta("parts")}
	parts.Spec.Driver, parts.Spec.PerDeviceNodeSelection = "part.example.com", new(true)
	parts.Spec.Pool = resourcev1.ResourcePool{Name: "parts", Generation: 1, ResourceSliceCount: 1}
	for i, d := range w.devices {
		parts.Spec.Devices = append(parts.Spec.Devices, resourcev1.Device{
			Name: fmt.Sprint("part-", i),
			NodeSelector: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{
					{Key: d.label, Operator: corev1.NodeSelectorOpIn, Values: []string{d.value}},
				},
			}}},
		})
	}
	s.Devices.PutSlice(model.SliceFrom(parts))
}

// claim returns the name of the claim of the group.
func (n *treeNode) claim() string { return n.name + "-part" }

func (w *treeWorld) putClaim(s *model.State, n *treeNode, owner types.UID) {
	claim := bigClaim(n.claim())
	claim.Requests[0].Alternatives[0].Class = "part"
	claim.Controller = owner
	if n.pods == nil {
		consumer := model.CompositeConsumer(n.name, owner)
		claim.ReservedFor = &consumer
	}
	s.Claims.Put(claim)
}

// claimants appends the groups at and below n that have claims and pods on nodes.
func (n *treeNode) claimants(list []*treeNode) []*treeNode {
	if n.claims && len(n.nodesOf()) > 0 {
		list = append(list, n)
	}
	for _, child := range n.children {
		list = child.claimants(list)
	}
	return list
}

// nodesOf returns the nodes of the pods at and below n.
func (n *treeNode) nodesOf() []int {
	var nodes []int
	for _, p := range n.pods {
		if p.node >= 0 {
			nodes = append(nodes, p.node)
		}
	}
	for _, child := range n.children {
		nodes = append(nodes, child.nodesOf()...)
	}
	return nodes
}

// hasDevices reports whether each group can have a device of its own that all its pods can use.
func (w *treeWorld) hasDevices(groups []*treeNode, taken []bool) bool {
	if len(groups) == 0 {
		return true
	}
	for i := range w.devices {
		if taken[i] || !w.isReachable(i, groups[0]) {
			continue
		}
		taken[i] = true
		found := w.hasDevices(groups[1:], taken)
		taken[i] = false
		if found {
			return true
		}
	}
	return false
}

// isReachable reports whether a device can be used from the nodes of all pods of a group.
func (w *treeWorld) isReachable(device int, n *treeNode) bool {
	d := w.devices[device]
	return !slices.ContainsFunc(n.nodesOf(), func(node int) bool {
		value, ok := w.nodes[node].Labels[d.label]
		return !ok || value != d.value
	})
}

// soundDevices returns why the devices of a plan are not valid, or "".
func (w *treeWorld) soundDevices(made *plan.Plan) string {
	has := map[string]int{}
	taken := map[int]string{}
	for i := range made.Claims {
		claim := &made.Claims[i]
		var device int
		if _, err := fmt.Sscanf(claim.Allocation.Devices[0].Device, "part-%d", &device); err != nil {
			return err.Error()
		}
		if other, ok := taken[device]; ok {
			return "one device for " + other + " and " + claim.Key.Name
		}
		has[claim.Key.Name], taken[device] = device, claim.Key.Name
	}
	for _, n := range w.root.claimants(nil) {
		device, ok := has[n.claim()]
		if !ok {
			return "no device for " + n.claim()
		}
		if !w.isReachable(device, n) {
			return "the device of " + n.claim() + " cannot be used from all nodes"
		}
	}
	return ""
}

// TestTreesWithDevicesAgainstReference restricts levels of trees by a shared device in place of a
// label, or in addition, and checks that a tree is placed if and only if there is a way, jointly
// with the devices of all levels.
func TestTreesWithDevicesAgainstReference(t *testing.T) {
	worlds := uint64(10_000)
	if testing.Short() {
		worlds = 500
	}
	compareTrees(t, worlds, func(seed uint64) *treeWorld {
		r := rand.New(rand.NewPCG(seed, 18))
		w := drawTree(r)
		for _, node := range w.nodes {
			node.Labels[corev1.LabelHostname] = node.Name
		}
		w.drawDevices(r)
		return w
	})
}
