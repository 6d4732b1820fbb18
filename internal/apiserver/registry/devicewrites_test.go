package registry

import (
	"fmt"
	"strings"
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/apiserver/validation"
)

// isExclusive is a naive model of exclusive allocation: it reports whether a claim may get an allocation
// in addition to those of the others.
func isExclusive(claim *resource.ResourceClaim, others []*resource.ResourceClaim) bool {
	allocation := claim.Status.Allocation
	if ptr.Deref(allocation.ReservedForAnyPod, false) && claim.Spec.ReservedFor == nil {
		return false
	}
	wholes, shares := map[string]int{}, map[string]int{}
	count := func(results []resourcev1.DeviceRequestAllocationResult) {
		for _, r := range results {
			switch {
			case ptr.Deref(r.AdminAccess, false):
			case r.ShareID == nil:
				wholes[r.Device]++
			default:
				shares[r.Device]++
				shares[r.Device+"/"+string(*r.ShareID)]++
			}
		}
	}
	for _, r := range allocation.Devices.Results {
		asked := map[string]bool{"plain": true, "admin": true, "either/a": true, "either/b": true}
		if !asked[r.Request] || ptr.Deref(r.AdminAccess, false) && r.Request != "admin" {
			return false
		}
	}
	count(allocation.Devices.Results)
	for _, other := range others {
		if other.Name != claim.Name && other.Status.Allocation != nil {
			count(other.Status.Allocation.Devices.Results)
		}
	}
	for _, r := range allocation.Devices.Results {
		switch {
		case ptr.Deref(r.AdminAccess, false):
		case r.ShareID == nil && (wholes[r.Device] > 1 || shares[r.Device] > 0):
			return false
		case r.ShareID != nil && (wholes[r.Device] > 0 || shares[r.Device+"/"+string(*r.ShareID)] > 1):
			return false
		}
	}
	return true
}

func drawAllocation(t *rapid.T) *resource.AllocationResult {
	allocation := &resource.AllocationResult{}
	for range rapid.IntRange(1, 3).Draw(t, "results") {
		r := resourcev1.DeviceRequestAllocationResult{
			Driver: "d.example.com", Pool: "p",
			Request: rapid.SampledFrom([]string{"plain", "admin", "either/a", "either/b", "either", "none"}).Draw(t, "request"),
			Device:  rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "device"),
		}
		if rapid.Bool().Draw(t, "admin") {
			r.AdminAccess = ptr.To(rapid.Bool().Draw(t, "admin access"))
		}
		if rapid.Bool().Draw(t, "share") {
			r.ShareID = ptr.To(
				types.UID(fmt.Sprintf("00000000-0000-4000-8000-00000000000%d", rapid.IntRange(0, 2).Draw(t, "share ID"))),
			)
		}
		allocation.Devices.Results = append(allocation.Devices.Results, r)
	}
	if rapid.IntRange(0, 3).Draw(t, "any pod") == 0 {
		allocation.ReservedForAnyPod = ptr.To(rapid.Bool().Draw(t, "for any pod"))
	}
	return allocation
}

// A status is stored if and only if it has nothing that its spec does not request, and no device of
// another claim (P10).
func TestAllocationsMatchTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		store := newClaimStore()
		for i, name := range []string{"a", "b", "c"} {
			c := &resource.ResourceClaim{}
			c.Namespace, c.Name, c.UID = "ns", name, types.UID(name)
			c.Spec.Devices.Requests = []resourcev1.DeviceRequest{
				{Name: "plain", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "any"}},
				{Name: "admin", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "any", AdminAccess: ptr.To(true)}},
				{
					Name: "either",
					FirstAvailable: []resourcev1.DeviceSubRequest{
						{Name: "a", DeviceClassName: "any"},
						{Name: "b", DeviceClassName: "any"},
					},
				},
			}
			if i == 0 {
				c.Spec.ReservedFor = &resourcev1.ResourceClaimConsumerReference{
					APIGroup: "batch",
					Resource: "jobs",
					Name:     "j",
					UID:      "j",
				}
			}
			store.put(c)
		}
		guard := newDeviceGuard(store, newDeviceView(func(claimKey) {}))
		told := 0
		guard.refused = func() { told++ }
		for range rapid.IntRange(1, 12).Draw(t, "writes") {
			old, _ := store.get(t.Context(), claimKey{"ns", rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "claim")})
			claim := old.DeepCopy()
			if claim.Status.Allocation != nil {
				claim.Status = resource.ResourceClaimStatus{}
			} else {
				claim.Status.Allocation = drawAllocation(t)
			}
			list, _ := store.all(t.Context())
			guard.view.reset(list)
			w := &deviceWrite{guard: guard}
			errs := validation.ValidateResourceClaimStatusUpdate(claim, old)
			refused := len(errs) > 0
			var why error = errs.ToAggregate()
			if !refused {
				before := told
				why = w.reserve(t.Context(), claim, old)
				refused = why != nil
				if refused != (told == before+1) {
					t.Fatalf("refused: %v, and %d refusals were told", why, told-before)
				}
				w.end()
			}
			var others []*resource.ResourceClaim
			for i := range list.Items {
				others = append(others, &list.Items[i])
			}
			if want := claim.Status.Allocation == nil || isExclusive(claim, others); want == refused {
				t.Fatalf("may be stored: %v, refused: %v: %+v", want, why, claim.Status.Allocation)
			}
			if !refused {
				store.put(claim)
			}
		}
	})
}

// An error does not disclose objects of other namespaces (P10).
func TestRefusalNamesNoClaimOfAnotherNamespace(t *testing.T) {
	g := addedDevice{id: deviceID{driver: "d", pool: "p", device: "x"}}
	for namespace, want := range map[string]string{
		"ns":     "device is allocated to claim ns/secret",
		"others": "device is allocated to a claim of another namespace",
	} {
		if got := conflictError(claimKey{namespace, "c"}, g, claimKey{"ns", "secret"}).Error(); !strings.Contains(got, want) {
			t.Errorf("told in %s: %q, want %q", namespace, got, want)
		}
	}
}
