package claims

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/features"
)

func member() *core.Pod {
	pod := &core.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "p"}}
	pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: new("g")}
	return pod
}

func TestCanRunWith(t *testing.T) {
	group := resourcev1.ResourceClaimConsumerReference{
		APIGroup: "scheduling.k8s.io",
		Resource: "podgroups",
		Name:     "g",
		UID:      "g",
	}
	own := resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: "p", UID: "p"}
	tests := []struct {
		name     string
		off      []features.Gate
		any      *bool
		consumer resourcev1.ResourceClaimConsumerReference
		want     bool
	}{
		{"for its group", nil, nil, group, true},
		{"for its group, which has no claims", []features.Gate{features.WorkloadClaims}, nil, group, false},
		{"for its group, and there are none", []features.Gate{features.GenericWorkload}, nil, group, false},
		{"for itself", []features.Gate{features.GenericWorkload, features.ReservedForWorkloads}, nil, own, true},
		{"for any", nil, new(true), group, true},
		{
			"for any, which is off",
			[]features.Gate{features.ReservedForWorkloads, features.WorkloadClaims},
			new(true),
			group,
			false,
		},
		{"for any, which is off, and for its group", []features.Gate{features.ReservedForWorkloads}, new(true), group, true},
	}
	for _, tt := range tests {
		claim := &resource.ResourceClaim{Status: resource.ResourceClaimStatus{
			Allocation:  &resource.AllocationResult{ReservedForAnyPod: tt.any},
			ReservedFor: []resourcev1.ResourceClaimConsumerReference{tt.consumer},
		}}
		pod := member()
		if problem := CanRunWith(features.Set{}.Without(tt.off...), pod, claim); (problem == nil) != tt.want {
			t.Errorf("%s: %v", tt.name, problem)
		}
		if pod.Spec.SchedulingGroup == nil || claim.Status.Allocation.ReservedForAnyPod != tt.any {
			t.Errorf("%s: an argument was changed", tt.name)
		}
	}
}

// TestSeen: with everything on, all is seen as it is, without a copy; what is off is hidden from a
// copy.
func TestSeen(t *testing.T) {
	pod, all := member(), features.Set{}
	group := &scheduling.PodGroup{}
	group.Spec.ResourceClaims = make([]scheduling.PodGroupResourceClaim, 1)
	claim := &resource.ResourceClaim{}
	claim.Spec.ReservedFor = &resourcev1.ResourceClaimConsumerReference{Name: "x"}
	claim.Status.Allocation = &resource.AllocationResult{ReservedForAnyPod: new(true)}
	if SeenPod(all, pod) != pod || SeenGroup(all, group) != group || SeenClaim(all, claim) != claim {
		t.Error("a copy was made though all is on")
	}
	off := all.Without(features.GenericWorkload, features.ReservedForWorkloads)
	if p := SeenPod(off, pod); p.Spec.SchedulingGroup != nil || pod.Spec.SchedulingGroup == nil {
		t.Error("the pod is seen in its group, or was changed")
	}
	if g := SeenGroup(off, group); len(g.Spec.ResourceClaims) > 0 || len(group.Spec.ResourceClaims) == 0 {
		t.Error("the group is seen with claims, or was changed")
	}
	if c := SeenClaim(off, claim); c.Spec.ReservedFor != nil || c.Status.Allocation.ReservedForAnyPod != nil ||
		claim.Spec.ReservedFor == nil || claim.Status.Allocation.ReservedForAnyPod == nil {
		t.Error("the claim is seen as any pod's, or was changed")
	}
	if SeenPod(off, nil) != nil || SeenGroup(off, nil) != nil || SeenClaim(off, nil) != nil {
		t.Error("something is seen of nothing")
	}
}

// TestPlacedClaim: devices of an allocated claim are not waited for while that is off, and nothing
// that it asks for is in the way.
func TestPlacedClaim(t *testing.T) {
	claim := &resource.ResourceClaim{}
	claim.Spec.Devices.Requests = []resourcev1.DeviceRequest{
		{Name: "r", FirstAvailable: []resourcev1.DeviceSubRequest{{Name: "s", DeviceClassName: "c"}}},
	}
	result := resourcev1.DeviceRequestAllocationResult{
		Request:                  "r/s",
		Device:                   "d",
		BindingConditions:        []string{"ready"},
		BindingFailureConditions: []string{"failed"},
	}
	claim.Status.Allocation = &resource.AllocationResult{}
	claim.Status.Allocation.Devices.Results = []resourcev1.DeviceRequestAllocationResult{result}
	claim.Status.Devices = []resourcev1.AllocatedDeviceStatus{{Device: "d"}}
	if c := PlacedClaim(features.Set{}, claim); !c.Allocation.Awaits() || len(c.Attachment.Reports) == 0 ||
		c.Unsupported != nil {
		t.Errorf("with all on: %+v", c)
	}
	c := PlacedClaim(features.Set{}.Without(features.DeviceStatus), claim)
	if c.Allocation.Awaits() || len(c.Allocation.Devices[0].BindingFailureConditions)+len(c.Attachment.Reports) > 0 ||
		c.Allocation.Devices[0].Device != "d" {
		t.Errorf("without device status: %+v of %+v", c.Allocation, c)
	}
	if len(claim.Status.Allocation.Devices.Results[0].BindingConditions) == 0 {
		t.Error("the API's claim was changed")
	}
}
