package model

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	resourceapi "github.com/allot-dev/allot/api/resource/v1"
)

// change is one random change of a State.
type change func(s *State)

func name(kind string, n int) string { return fmt.Sprintf("%s-%d", kind, n) }

func drawChange(t *rapid.T) change {
	n := rapid.IntRange(0, 3).Draw(t, "n")
	uid := types.UID(fmt.Sprint(rapid.IntRange(0, 1).Draw(t, "uid")))
	key := Key{Namespace: "ns", Name: name("x", n)}
	node := rapid.SampledFrom([]string{"", "node-0", "node-1", "node-2"}).Draw(t, "node")
	switch rapid.IntRange(0, 18).Draw(t, "kind") {
	case 0:
		label := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "zone")
		cpu := rapid.Int64Range(1, 3).Draw(t, "cpu")
		return func(s *State) {
			s.Nodes.Put(
				&Node{
					Name:        name("node", n),
					UID:         uid,
					Labels:      map[string]string{"zone": label},
					Allocatable: Resources{corev1.ResourceCPU: cpu},
				},
			)
		}
	case 1:
		return func(s *State) { s.Nodes.Delete(name("node", n)) }
	case 2, 3, 4:
		pod := drawPod(t, key, uid, node)
		return func(s *State) { s.Pods.Put(pod) }
	case 5:
		return func(s *State) { s.Pods.Delete(key) }
	case 6:
		return func(s *State) { s.Pods.Assume(key, node) }
	case 7:
		return func(s *State) { s.Pods.Forget(key) }
	case 8, 9:
		claim := &Claim{
			Key:        key,
			UID:        uid,
			Allocation: drawAllocation(t),
			Version:    rapid.Uint64Range(0, 3).Draw(t, "version"),
		}
		return func(s *State) { s.Claims.Put(claim) }
	case 10:
		return func(s *State) { s.Claims.Delete(key) }
	case 16:
		return func(s *State) { s.Nominations.Put(nomination(name("x", n), node)) }
	case 17:
		return func(s *State) { s.Nominations.Delete(UnitKey{Key: key}) }
	case 18:
		return drawRelease(t, key)
	case 11:
		assumption := Assumption{
			Allocation: drawAllocation(t),
			Consumers:  []Consumer{PodConsumer("p", uid)},
			AnyPod:     rapid.Bool().Draw(t, "any"),
		}
		return func(s *State) { s.Claims.Assume(key, assumption) }
	case 12:
		return func(s *State) { s.Claims.Forget(key) }
	case 13, 14:
		slice := drawSlice(t, name("slice", n), uid)
		return func(s *State) { s.Devices.PutSlice(slice) }
	}
	return drawRare(t, n, uid, key)
}

func drawRare(t *rapid.T, n int, uid types.UID, key Key) change {
	switch rapid.IntRange(0, 6).Draw(t, "rare") {
	case 5:
		expected := &Claim{Key: key, Controller: uid, Generated: &resourceapi.ResourceClaim{}}
		plan := Assumption{NewClaim: expected, Allocation: drawAllocation(t), Consumers: []Consumer{PodConsumer("p", uid)}}
		planned := rapid.Bool().Draw(t, "planned")
		return func(s *State) {
			s.Claims.Expect(expected)
			if planned {
				s.Claims.Assume(key, plan)
			}
		}
	case 6:
		return func(s *State) { s.Claims.Unexpect(key, uid) }
	case 0:
		return func(s *State) { s.Devices.DeleteSlice(name("slice", n)) }
	case 1:
		group := &Group{Key: Key{Namespace: "ns", Name: "g"}, UID: uid, Gang: true, MinCount: n + 1}
		return func(s *State) { s.Groups.Put(group) }
	case 2:
		return func(s *State) { s.Groups.Delete(Key{Namespace: "ns", Name: "g"}) }
	case 3:
		return func(s *State) { s.Classes.Put(&Class{Name: key.Name, UID: uid}) }
	}
	labels := rapid.SampledFrom([]map[string]string{nil, {"team": "a"}, {"team": "b"}}).Draw(t, "labels")
	return func(s *State) { s.Namespaces.Put("ns", labels) }
}

// nomination reserves resources on a node and a device for a pod, and reclaims the claim of the
// same name.
func nomination(name, node string) *Nomination {
	key, stand := Key{Namespace: "ns", Name: name}, Key{Namespace: "ns", Name: "for " + name}
	device := resourcev1.DeviceRequestAllocationResult{Driver: "d", Pool: "p", Device: "dev-0"}
	return &Nomination{
		Unit: UnitKey{Key: key},
		Pods: []*Pod{
			{Key: stand, Node: node, StandIn: true, Shape: &Shape{Namespace: "ns", Requests: Resources{corev1.ResourceCPU: 1}}},
		},
		Devices: []DeviceReservation{
			{Claim: key, Allocation: &Allocation{Devices: []resourcev1.DeviceRequestAllocationResult{device}}},
		},
		Reclaimed: []Key{key},
	}
}

func drawRelease(t *rapid.T, key Key) change {
	id := DeviceID{Driver: "d", Pool: "p", Device: "dev-0"}
	switch rapid.IntRange(0, 3).Draw(t, "of") {
	case 2:
		return func(s *State) { s.Devices.Quarantine(id) }
	case 3:
		return func(s *State) { s.Devices.EndQuarantine(id) }
	}
	if rapid.Bool().Draw(t, "budget") {
		budget := &Budget{Key: key, Selector: labels.Everything(), Allowed: rapid.IntRange(0, 1).Draw(t, "allowed")}
		return func(s *State) { s.Budgets.Put(budget) }
	}
	return func(s *State) {
		s.Claims.RemoveConsumers(key, func(Consumer) bool { return true })
		s.Budgets.Delete(key)
	}
}

func drawPod(t *rapid.T, key Key, uid types.UID, node string) *Pod {
	shape := &Shape{
		Namespace: "ns",
		Labels:    map[string]string{"app": rapid.SampledFrom([]string{"a", "b"}).Draw(t, "app")},
		Requests:  Resources{corev1.ResourceCPU: 1},
	}
	term := corev1.PodAffinityTerm{
		TopologyKey:   "zone",
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}},
	}
	switch rapid.IntRange(0, 3).Draw(t, "affinity") {
	case 0:
		term.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}
		fallthrough
	case 1:
		shape.Affinity = &corev1.Affinity{
			PodAntiAffinity: &corev1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term},
			},
		}
	case 2:
		shape.Affinity = &corev1.Affinity{
			PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term}},
		}
	}
	if err := shape.complete(nil); err != nil {
		t.Fatal(err)
	}
	return &Pod{
		Key: key, UID: uid, Node: node, Shape: shape,
		Group: rapid.SampledFrom([]string{"", "g"}).Draw(t, "group"),
		Set:   types.UID(rapid.SampledFrom([]string{"", "s"}).Draw(t, "set")),
		Claims: []PodClaim{
			{Entry: "e", Claim: name("x", rapid.IntRange(0, 3).Draw(t, "claim")), Group: rapid.Bool().Draw(t, "through group")},
		},
		Extended: rapid.SampledFrom([]string{"", "x-0"}).Draw(t, "extended"),
		Gated:    rapid.Bool().Draw(t, "gated"),
		Deleting: rapid.Bool().Draw(t, "deleting"),
		Finished: rapid.Bool().Draw(t, "finished"),
	}
}

func drawAllocation(t *rapid.T) *Allocation {
	if rapid.Bool().Draw(t, "none") {
		return nil
	}
	a := &Allocation{}
	for range rapid.IntRange(0, 2).Draw(t, "devices") {
		result := resourcev1.DeviceRequestAllocationResult{
			Driver: "d", Pool: rapid.SampledFrom([]string{"p", "q"}).Draw(t, "pool"),
			Device: name("dev", rapid.IntRange(0, 2).Draw(t, "device")),
		}
		if rapid.Bool().Draw(t, "part") {
			id := types.UID("part")
			amount := rapid.SampledFrom([]string{"0", "1", "250m", "1Gi"}).Draw(t, "amount")
			result.ShareID, result.ConsumedCapacity = &id, Capacity{"memory": resource.MustParse(amount)}
		}
		a.Devices = append(a.Devices, result)
	}
	return a
}

func drawSlice(t *rapid.T, slice string, uid types.UID) *Slice {
	s := &Slice{
		Name: slice, UID: uid, Pool: PoolID{Driver: "d", Pool: rapid.SampledFrom([]string{"p", "q"}).Draw(t, "pool")},
		Generation: rapid.Int64Range(1, 2).Draw(t, "generation"), PoolSlices: rapid.Int64Range(1, 2).Draw(t, "slices"),
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "devices") {
		scope := rapid.SampledFrom([]Scope{{All: true}, {Node: "node-0"}, {Node: "node-1"}}).Draw(t, "scope")
		s.Devices = append(s.Devices, Device{Name: name("dev", i), Usage: &Usage{Scope: scope}})
	}
	return s
}

// After any changes, the derived values equal those of a State into which the objects were
// replayed.
func TestIndicesFollowChanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := NewState()
		for range rapid.IntRange(1, 30).Draw(t, "changes") {
			drawChange(t)(s)
			if err := s.Audit(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// Undoing a trial, or a part of one, restores the State exactly; keeping it does not change it.
func TestUndoIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := NewState()
		some := func(most int) {
			for range rapid.IntRange(0, most).Draw(t, "changes") {
				drawChange(t)(s)
			}
		}
		same := func(what, want string) {
			if have := s.Dump(); have != want {
				t.Fatalf("%s: have\n%s\nwant\n%s", what, have, want)
			}
			if err := s.Audit(); err != nil {
				t.Fatal(err)
			}
		}
		some(20)
		before := s.Dump()
		tx := s.Begin()
		some(10)
		mark, middle := tx.Mark(), s.Dump()
		some(10)
		tx.UndoTo(mark)
		same("undone to the mark", middle)
		some(5)
		if rapid.Bool().Draw(t, "keep") {
			kept := s.Dump()
			tx.Keep()
			same("kept", kept)
			return
		}
		tx.Undo()
		same("undone", before)
		some(5)
	})
}

// A device is in use while a claim, a reservation or a quarantine holds it, and each node sees the
// devices that it can use.
func TestPoolsShowHolders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := NewState()
		for range rapid.IntRange(1, 30).Draw(t, "changes") {
			drawChange(t)(s)
		}
		held := map[DeviceID]bool{}
		for _, entry := range s.Claims.entries {
			for _, result := range entry.effective().Allocation.results() {
				held[DeviceIDOf(result)] = true
			}
		}
		for _, n := range s.Nominations.byUnit {
			for i := range n.Devices {
				for _, result := range n.Devices[i].Allocation.results() {
					held[DeviceIDOf(result)] = true
				}
			}
		}
		for id := range s.Devices.quarantined {
			held[id] = true
		}
		for _, info := range s.Nodes.List() {
			for _, view := range s.Devices.Pools(info) {
				if view.Problem != "" {
					continue // the same device may occur twice
				}
				for i := range view.Devices {
					if view.InUse().Has(i) != held[view.DeviceID(i)] {
						t.Fatalf("device %s: taken %v", view.DeviceID(i), view.InUse().Has(i))
					}
					scope := view.Devices[i].Scope
					if want := scope.All || scope.Node == info.Name; view.Reach.Has(i) != want {
						t.Fatalf("device %s reached from %s: %v", view.DeviceID(i), info.Name, view.Reach.Has(i))
					}
				}
			}
		}
	})
}
