package cluster

import (
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/model"
)

// claimAt is a version of the claim c, with a device or without.
func claimAt(uid, version string, device bool) *resource.ResourceClaim {
	c := &resource.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "c", UID: types.UID(uid), ResourceVersion: version}}
	if device {
		c.Status.Allocation = &resource.AllocationResult{}
		c.Status.Allocation.Devices.Results = []resourcev1.DeviceRequestAllocationResult{{Request: "r", Driver: "d", Pool: "p", Device: "x"}}
	}
	return c
}

// What a write has taken off a claim does not come back with what the cache shows of the time before.
func TestTakenClaimIsNotOverwrittenByOlderVersions(t *testing.T) {
	w := newWorld(t)
	key := model.Key{Namespace: ns, Name: "c"}
	show := func(c *resource.ResourceClaim) {
		w.claims.Put(c)
		w.feed.Apply(w.state)
	}
	holds := func(when string, want bool) {
		t.Helper()
		claim, ok := w.state.ObservedClaim(key)
		if !ok || (claim.Allocation != nil) != want {
			t.Errorf("%s: claim %+v, want it with a device: %v", when, claim, want)
		}
	}
	show(claimAt("1", "8", false))
	w.feed.Take(w.state, claimAt("1", "10", false))
	show(claimAt("1", "9", true))
	holds("an older version came", false)
	show(claimAt("1", "10", false))
	show(claimAt("1", "11", true))
	holds("newer versions came", true)

	w.feed.Take(w.state, claimAt("1", "10", false))
	holds("what was written is older than the cache", true)
	w.feed.Take(w.state, claimAt("2", "12", false))
	holds("what was written was another claim", true)

	w.feed.Take(w.state, claimAt("1", "20", false))
	w.claims.Delete(ns, "c")
	show(claimAt("3", "15", true))
	holds("a claim of the same name came", true)
	if len(w.feed.ahead) > 0 {
		t.Errorf("still remembered: %v", w.feed.ahead)
	}
}
