package inventory_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/inventory"
	"github.com/allot-dev/allot/internal/model"
)

func classDevices() inventory.Matcher {
	allocator := alloc.New()
	return func(view *model.PoolView, class *model.Class) (model.Bits, bool) {
		allocator.StartAttempt(0)
		return allocator.ClassDevices(view, class)
	}
}

// poolSlice returns the only slice of a pool with devices d0, d1, …; if node is "", all nodes can
// use it.
func poolSlice(pool, node string, devices int, edit func(int, *resourcev1.Device)) *model.Slice {
	slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: pool}}
	slice.Spec.Driver, slice.Spec.Pool = "gpu.example.com", resourcev1.ResourcePool{Name: pool, ResourceSliceCount: 1}
	all := true
	if slice.Spec.AllNodes = &all; node != "" {
		slice.Spec.AllNodes, slice.Spec.NodeName = nil, &node
	}
	for i := range devices {
		device := resourcev1.Device{Name: fmt.Sprint("d", i)}
		edit(i, &device)
		slice.Spec.Devices = append(slice.Spec.Devices, device)
	}
	return model.SliceFrom(slice)
}

func noChange(int, *resourcev1.Device) {}

func tainted(at int) func(int, *resourcev1.Device) {
	return func(i int, device *resourcev1.Device) {
		if i == at {
			device.Taints = []resourcev1.DeviceTaint{{Key: "bad", Effect: resourcev1.DeviceTaintEffectNoSchedule}}
		}
	}
}

// claimOf returns a claim that has been allocated whole devices of a pool.
func claimOf(name, pool string, devices ...int) *model.Claim {
	claim := &model.Claim{Key: model.Key{Namespace: "ns", Name: name}, Allocation: &model.Allocation{}}
	for _, i := range devices {
		claim.Allocation.Devices = append(claim.Allocation.Devices, resourcev1.DeviceRequestAllocationResult{
			Driver: "gpu.example.com", Pool: pool, Device: fmt.Sprint("d", i),
		})
	}
	return claim
}

func states(counts [9]int) string {
	text := ""
	for _, state := range inventory.DeviceStates() {
		if counts[state] > 0 {
			text += fmt.Sprintf("%s=%d ", state, counts[state])
		}
	}
	return text
}

func show(i *inventory.Inventory) []string {
	var out []string
	for _, count := range i.Pools(2) {
		out = append(out, fmt.Sprintf("pool %q: %s", count.Pool, states(count.States)))
	}
	for _, count := range i.Classes() {
		out = append(out, fmt.Sprintf("class %s: %s", count.Class, states(count.States)))
	}
	return out
}

func TestStatesOfDevices(t *testing.T) {
	s := model.NewState()
	s.Classes.Put(&model.Class{Name: "first", Selectors: []string{`"model" in device.attributes["gpu.example.com"]`}})
	s.Devices.PutSlice(poolSlice("rack", "", 7, func(i int, device *resourcev1.Device) {
		tainted(4)(i, device)
		if i == 6 {
			device.Attributes = map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"model": {StringValue: new("a")}}
		}
	}))
	s.Devices.PutSlice(poolSlice("n1", "n1", 3, tainted(1)))
	s.Devices.PutSlice(poolSlice("n2", "n2", 2, noChange))
	for _, claim := range []*model.Claim{
		claimOf("a", "rack", 0), claimOf("b", "rack", 1, 2), claimOf("c", "rack", 2), claimOf("d", "rack", 4),
		claimOf("e", "n2", 1, 9),
	} {
		s.Claims.Put(claim)
	}
	s.Devices.Quarantine(model.DeviceID{Driver: "gpu.example.com", Pool: "rack", Device: "d5"})
	i := inventory.New(s, classDevices())
	if !i.Update(100) {
		t.Fatal("not all pools were counted")
	}
	want := []string{
		`pool "": free=3 tainted=1 allocated=1 unpublished=1 `,
		`pool "rack": free=2 reserved=1 allocated=2 broken=1 doubled=1 `,
		"class first: free=1 ",
	}
	if diff := cmp.Diff(want, show(i)); diff != "" {
		t.Error(diff)
	}
	for _, name := range []string{"rack", "n1", "n2"} {
		s.Devices.DeleteSlice(name)
	}
	for _, name := range []string{"a", "b", "c", "d"} {
		s.Claims.Delete(model.Key{Namespace: "ns", Name: name})
	}
	s.Devices.EndQuarantine(model.DeviceID{Driver: "gpu.example.com", Pool: "rack", Device: "d5"})
	i.Update(100)
	if diff := cmp.Diff([]string{`pool "": unpublished=2 `, "class first: "}, show(i)); diff != "" {
		t.Errorf("after deletes:\n%s", diff)
	}
}

func TestPoolsBeyondTheLimitAreSummedUp(t *testing.T) {
	s := model.NewState()
	for _, pool := range []string{"a", "b", "c", "d"} {
		s.Devices.PutSlice(poolSlice(pool, "", 1, noChange))
	}
	i := inventory.New(s, classDevices())
	for updates := 1; !i.Update(1); updates++ {
		if updates > 4 {
			t.Fatal("an Update counts no pool")
		}
	}
	want := []string{`pool "": free=2 `, `pool "a": free=1 `, `pool "b": free=1 `}
	if diff := cmp.Diff(want, show(i)); diff != "" {
		t.Error(diff)
	}
}

// TestCountsFollowTheState checks that an Inventory that counts only changed pools always shows the
// same as one that counts everything, also within trials.
func TestCountsFollowTheState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := model.NewState()
		following := inventory.New(s, classDevices())
		for range rapid.IntRange(1, 30).Draw(t, "changes") {
			change(t, s)
			if rapid.Bool().Draw(t, "look") {
				following.Update(rapid.IntRange(0, 3).Draw(t, "limit"))
			}
		}
		following.Update(100)
		anew := inventory.New(s, classDevices())
		anew.Update(100)
		if diff := cmp.Diff(show(anew), show(following)); diff != "" {
			t.Fatalf("(-counted anew +followed):\n%s", diff)
		}
	})
}

// change makes one change of a State.
func change(t *rapid.T, s *model.State) {
	pool := rapid.SampledFrom([]string{"rack", "row", "n1", "n2"}).Draw(t, "pool")
	name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name")
	key := model.Key{Namespace: "ns", Name: name}
	first := rapid.IntRange(0, 4).Draw(t, "device")
	device := model.DeviceID{Driver: "gpu.example.com", Pool: pool, Device: fmt.Sprint("d", first)}
	node := ""
	if pool[0] == 'n' {
		node = pool
	}
	switch rapid.IntRange(0, 9).Draw(t, "change") {
	case 0, 1:
		s.Devices.PutSlice(poolSlice(pool, node, rapid.IntRange(0, 5).Draw(t, "devices"), tainted(first)))
	case 2:
		s.Devices.DeleteSlice(pool)
	case 3, 4:
		s.Claims.Put(claimOf(name, pool, first))
	case 5:
		s.Claims.Delete(key)
	case 6:
		tx := s.Begin()
		s.Claims.Put(claimOf(name, pool, first))
		tx.Undo()
	case 7:
		s.Devices.Quarantine(device)
	case 8:
		s.Devices.EndQuarantine(device)
	case 9:
		driver := rapid.SampledFrom([]string{"gpu.example.com", "x"}).Draw(t, "driver")
		selectors := []string{fmt.Sprintf("device.driver == %q", driver)}
		if slices.Contains([]string{"a", "b"}, name) {
			s.Classes.Put(&model.Class{Name: name, Selectors: selectors})
		} else {
			rule := &resourcev1.DeviceTaintRule{ObjectMeta: metav1.ObjectMeta{Name: name}}
			rule.Spec.DeviceSelector = &resourcev1.DeviceTaintSelector{Pool: &pool}
			rule.Spec.Taint = resourcev1.DeviceTaint{Key: "k", Effect: resourcev1.DeviceTaintEffectNoExecute}
			s.TaintRules.Put(model.TaintRuleFrom(rule))
		}
	}
}

// BenchmarkUpdate measures a scrape on 10,000 nodes with 8 devices each: the first one, and one
// after a hundred pools have changed.
func BenchmarkUpdate(b *testing.B) {
	s := model.NewState()
	s.Classes.Put(&model.Class{Name: "gpu", Selectors: []string{`device.driver == "gpu.example.com"`}})
	for n := range 10_000 {
		name := fmt.Sprint("n", n)
		s.Devices.PutSlice(poolSlice(name, name, 8, noChange))
		if n%2 == 0 {
			s.Claims.Put(claimOf(name, name, 0, 1))
		}
	}
	s.Devices.SharedVersion() // builds the pools
	matches := classDevices()
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			inventory.New(s, matches).Update(10_000)
		}
	})
	following := inventory.New(s, matches)
	following.Update(10_000)
	b.Run("later", func(b *testing.B) {
		for b.Loop() {
			for n := range 100 {
				name := fmt.Sprint("n", 2*n)
				s.Claims.Put(claimOf(name, name, 1, 2))
			}
			following.Update(10_000)
			following.Pools(100)
			following.Classes()
		}
	})
}
