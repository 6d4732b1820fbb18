package model

import (
	"slices"
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
	"pgregory.net/rapid"
)

func sliceOf(pool, slice string, ofSlices int64, devices ...string) *Slice {
	s := &Slice{
		Name:       slice,
		Pool:       PoolID{Driver: "d", Pool: pool},
		PoolSlices: ofSlices,
		Usage:      Usage{Scope: Scope{Node: "n"}},
	}
	for _, device := range devices {
		s.Devices = append(s.Devices, Device{Name: device, Usage: &s.Usage})
	}
	return s
}

// A pool of many slices is not built once for each of them, and is not replaced until one of them
// changes.
func TestPoolIsBuiltOnFirstUse(t *testing.T) {
	s, id := NewState(), PoolID{Driver: "d", Pool: "p"}
	for _, name := range []string{"a", "b", "c"} {
		s.Devices.PutSlice(sliceOf("p", name, 3, name+"-0", name+"-1"))
		if s.Devices.pools[id].pool != nil {
			t.Fatal("built before anybody looked")
		}
	}
	built, ok := s.Devices.Pool(id)
	if !ok || built.Slices != 3 || len(built.Devices) != 6 {
		t.Fatalf("pool %v, there: %v", built, ok)
	}
	s.Devices.PutSlice(sliceOf("p", "a", 3, "a-0", "a-1"))
	if again, _ := s.Devices.Pool(id); again != built {
		t.Error("built anew for a slice that is the same")
	}
	s.Devices.PutSlice(sliceOf("p", "a", 3, "a-0"))
	if again, _ := s.Devices.Pool(id); len(again.Devices) != 5 {
		t.Errorf("%d devices after a slice lost one", len(again.Devices))
	}
	for _, name := range []string{"a", "b", "c"} {
		s.Devices.DeleteSlice(name)
	}
	if _, ok := s.Devices.Pool(id); ok || len(s.Devices.pools) != 0 || len(s.Nodes.byName) != 0 {
		t.Error("something is left of a pool that is gone")
	}
}

// Devices are found by name, in whatever order they are published. A duplicate name makes the pool
// unusable.
func TestDevicesAreFoundByName(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfN(rapid.StringMatching("[a-d]{1,2}"), 0, 10)
		first, second := names.Draw(t, "first"), names.Draw(t, "second")
		pool := newPool([]*Slice{sliceOf("p", "1", 2, first...), sliceOf("p", "2", 2, second...)})
		published := slices.Concat(first, second)
		for _, name := range append(published, "none") {
			at, ok := pool.Index(name)
			if want := slices.Contains(published, name); ok != want || ok && pool.Devices[at].Name != name {
				t.Fatalf("%s of %v: %d, %v", name, published, at, ok)
			}
		}
		twice := len(slices.Compact(slices.Sorted(slices.Values(published)))) < len(published)
		if twice != (pool.Problem != "") {
			t.Errorf("problem %q with %v", pool.Problem, published)
		}
	})
}

// The numbers of pools are small and unique while pools are added and deleted.
func TestPoolNumbersAreUnique(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, most := NewState(), 0
		for range rapid.IntRange(1, 30).Draw(t, "changes") {
			name := name("p", rapid.IntRange(0, 5).Draw(t, "pool"))
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				s.Devices.DeleteSlice(name)
			case 1: // it stays as long as a claim holds a device of it
				held := []resourcev1.DeviceRequestAllocationResult{{Driver: "d", Pool: name, Device: "a"}}
				s.Claims.Put(&Claim{Key: Key{Name: name}, Allocation: &Allocation{Devices: held}})
			case 2:
				s.Claims.Delete(Key{Name: name})
			default:
				s.Devices.PutSlice(sliceOf(name, name, 1, "a"))
			}
			most = max(most, len(s.Devices.pools))
			seen := map[int]bool{}
			for id, entry := range s.Devices.pools {
				if seen[entry.number] || entry.number >= most {
					t.Fatalf("pool %s has number %d; there have been %d pools at most", id, entry.number, most)
				}
				seen[entry.number] = true
			}
		}
	})
}

// List returns the nodes in the order of their names after every change.
func TestNodesAreInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, want := NewState(), []string{}
		for range rapid.IntRange(1, 40).Draw(t, "changes") {
			name := rapid.StringMatching("[a-c]{1,3}").Draw(t, "node")
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				s.Nodes.Delete(name)
				want = slices.DeleteFunc(want, func(other string) bool { return other == name })
			case 1:
				var have []string
				for _, info := range s.Nodes.List() {
					have = append(have, info.Name)
				}
				if slices.Sort(want); !slices.Equal(have, want) {
					t.Fatalf("%v, want %v", have, want)
				}
			default:
				if s.Nodes.Put(&Node{Name: name}); !slices.Contains(want, name) {
					want = append(want, name)
				}
			}
		}
	})
}
