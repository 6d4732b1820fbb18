package conformance

import (
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// TestWatchSeesTwoHolders: a device that goes from one claim to the next is right, one that is in
// both is not.
func TestWatchSeesTwoHolders(t *testing.T) {
	holding := func(name string, devices ...string) *resourcev1.ResourceClaim {
		claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}
		for _, d := range devices {
			if claim.Status.Allocation == nil {
				claim.Status.Allocation = &resourcev1.AllocationResult{}
			}
			results := &claim.Status.Allocation.Devices.Results
			*results = append(*results, resourcev1.DeviceRequestAllocationResult{Driver: gpus, Pool: "node", Device: d})
		}
		return claim
	}
	w := &deviceWatch{holders: map[device]string{}, held: map[string][]device{}}
	w.record(watch.Added, holding("first", "gpu-0"))
	w.record(watch.Modified, holding("first"))
	w.record(watch.Modified, holding("second", "gpu-0", "gpu-1"))
	w.record(watch.Modified, holding("second", "gpu-0", "gpu-1"))
	if len(w.wrong) > 0 {
		t.Errorf("nothing is wrong yet: %q", w.wrong)
	}
	w.record(watch.Added, holding("third", "gpu-1"))
	if len(w.wrong) != 1 {
		t.Errorf("one device is in two claims: %q", w.wrong)
	}
}
