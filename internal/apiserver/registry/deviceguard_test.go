package registry

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	resource "github.com/allot-dev/allot/api/resource/v1"
)

// claimStore is what etcd has.
type claimStore struct {
	version int
	claims  map[claimKey]*resource.ResourceClaim
}

func (s *claimStore) all(context.Context) ([]resource.ResourceClaim, error) {
	var list []resource.ResourceClaim
	for _, c := range s.claims {
		list = append(list, *c.DeepCopy())
	}
	return list, nil
}

func (s *claimStore) get(_ context.Context, key claimKey) (*resource.ResourceClaim, error) {
	if c, ok := s.claims[key]; ok {
		return c.DeepCopy(), nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "resourceclaims"}, key.name)
}

func (s *claimStore) put(c *resource.ResourceClaim) *resource.ResourceClaim {
	s.version++
	c = c.DeepCopy()
	c.ResourceVersion = strconv.Itoa(s.version)
	s.claims[keyOf(c)] = c
	return c
}

// rivals are pairs of claims that may not be stored together.
func (s *claimStore) rivals() string {
	for _, a := range s.claims {
		for _, b := range s.claims {
			for _, x := range devicesOf(a) {
				for _, y := range devicesOf(b) {
					if a.Name < b.Name && x.whole() == y.whole() && (x.share == "" || y.share == "" || x.share == y.share) {
						return fmt.Sprintf("%v of %s and %v of %s", x, a.Name, y, b.Name)
					}
				}
			}
		}
	}
	return ""
}

// underWay is a write that has passed the guard and may not be stored yet.
type underWay struct {
	write  deviceWrite
	claim  *resource.ResourceClaim
	stored *resource.ResourceClaim
	later  func() // nobody waits for it any more, and it may still be stored until this is called
}

func drawResult(t *rapid.T, claim string) resourcev1.DeviceRequestAllocationResult {
	r := resourcev1.DeviceRequestAllocationResult{Driver: "d", Pool: "p", Device: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "device")}
	switch rapid.IntRange(0, 3).Draw(t, "how") {
	case 0:
		r.AdminAccess = ptr.To(true)
	case 1:
		r.ShareID = ptr.To(types.UID(claim))
	}
	return r
}

// Writes of claims that overlap in any way, of which some get lost and some have no answer: no device is ever stored
// for two claims, and nobody is refused for the sake of a claim that neither has the device nor may get it.
func TestDeviceGuard(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		store := &claimStore{claims: map[claimKey]*resource.ResourceClaim{}}
		names := []string{"a", "b", "c"}
		for _, name := range names {
			c := &resource.ResourceClaim{}
			c.Namespace, c.Name = "ns", name
			store.put(c)
		}
		guard := newDeviceGuard(store)
		var open []*underWay
		t.Repeat(map[string]func(*rapid.T){
			"begin": func(t *rapid.T) {
				key := claimKey{"ns", rapid.SampledFrom(names).Draw(t, "claim")}
				old, _ := store.get(t.Context(), key)
				w := &underWay{write: deviceWrite{guard: guard}, claim: old.DeepCopy()}
				w.claim.Status.Allocation = nil
				if rapid.Bool().Draw(t, "allocate") {
					w.claim.Status.Allocation = &resource.AllocationResult{}
					w.claim.Status.Allocation.Devices.Results = []resourcev1.DeviceRequestAllocationResult{drawResult(t, key.name)}
				}
				if err := w.write.reserve(t.Context(), w.claim, old); err == nil {
					open = append(open, w)
				} else if !wanted(store, open, w.claim) {
					t.Fatalf("refused without need: %v", err)
				}
			},
			"store": func(t *rapid.T) {
				if len(open) == 0 {
					t.Skip()
				}
				w := rapid.SampledFrom(open).Draw(t, "write")
				if now := store.claims[keyOf(w.claim)]; w.stored == nil && now.ResourceVersion == w.claim.ResourceVersion {
					w.stored = store.put(w.claim)
				}
			},
			"end": func(t *rapid.T) {
				if len(open) == 0 {
					t.Skip()
				}
				i := rapid.IntRange(0, len(open)-1).Draw(t, "write")
				w := open[i]
				switch {
				case w.later != nil:
					w.later()
				case rapid.IntRange(0, 3).Draw(t, "answer") == 0:
					guard.later = func(f func()) { w.later = f }
					w.write.finish(nil, false)
					return
				default:
					w.write.finish(w.stored, true)
				}
				open = append(open[:i:i], open[i+1:]...)
			},
			"": func(t *rapid.T) {
				if rivals := store.rivals(); rivals != "" {
					t.Fatal(rivals)
				}
			},
		})
	})
}

// wanted says whether somebody else has a device of the claim, had it when a write began that may still be stored, or may get it.
func wanted(store *claimStore, open []*underWay, claim *resource.ResourceClaim) bool {
	trial := &claimStore{claims: map[claimKey]*resource.ResourceClaim{keyOf(claim): claim}}
	try := func(other *resource.ResourceClaim) bool {
		if other.Name == claim.Name {
			return false
		}
		trial.claims[keyOf(other)] = other
		defer delete(trial.claims, keyOf(other))
		return trial.rivals() != ""
	}
	for _, other := range store.claims {
		if try(other) {
			return true
		}
	}
	for _, w := range open {
		if try(w.claim) || w.write.guard.claim(keyOf(w.claim)).writes > 0 && w.claim.Name != claim.Name {
			return true
		}
	}
	return false
}
