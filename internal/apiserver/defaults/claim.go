package defaults

import (
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	upstreamv1alpha3 "k8s.io/api/resource/v1alpha3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	resource "github.com/allot-dev/allot/api/resource/v1"
	resourcev1alpha3 "github.com/allot-dev/allot/api/resource/v1alpha3"
)

// ResourceClaim sets the allocation mode and count of each request, and the operator of
// tolerations.
func ResourceClaim(claim *resource.ResourceClaim) {
	claimSpec(&claim.Spec)
	if claim.Status.Allocation != nil {
		results := claim.Status.Allocation.Devices.Results
		for i := range results {
			tolerations(results[i].Tolerations)
		}
	}
}

// ResourceClaimTemplate sets the defaults of the claims that are generated from it.
func ResourceClaimTemplate(template *resource.ResourceClaimTemplate) {
	claimSpec(&template.Spec.Spec)
}

// ClusterResourceClaimTemplate sets the defaults of the claims that are generated from it.
func ClusterResourceClaimTemplate(template *resourcev1alpha3.ClusterResourceClaimTemplate) {
	claimSpec(&template.Spec.Spec)
}

func claimSpec(spec *resource.ResourceClaimSpec) {
	for i := range spec.Devices.Requests {
		request := &spec.Devices.Requests[i]
		if exact := request.Exactly; exact != nil {
			allocationMode(&exact.AllocationMode, &exact.Count)
			tolerations(exact.Tolerations)
		}
		for j := range request.FirstAvailable {
			sub := &request.FirstAvailable[j]
			allocationMode(&sub.AllocationMode, &sub.Count)
			tolerations(sub.Tolerations)
		}
	}
}

func allocationMode(mode *resourcev1.DeviceAllocationMode, count *int64) {
	orElse(mode, resourcev1.DeviceAllocationModeExactCount)
	if *mode == resourcev1.DeviceAllocationModeExactCount {
		orElse(count, 1)
	}
}

func tolerations(list []resourcev1.DeviceToleration) {
	for i := range list {
		orElse(&list[i].Operator, resourcev1.DeviceTolerationOpEqual)
	}
}

// ResourceSlice returns what stamps the taints that lack the time at which they were added.
func ResourceSlice(now func() time.Time) func(*resourcev1.ResourceSlice) {
	return func(slice *resourcev1.ResourceSlice) {
		for i := range slice.Spec.Devices {
			taints := slice.Spec.Devices[i].Taints
			for j := range taints {
				orNew(&taints[j].TimeAdded, second(now))
			}
		}
	}
}

// DeviceTaintRule returns what stamps a rule that lacks the time at which its taint was added.
func DeviceTaintRule(now func() time.Time) func(*resourcev1.DeviceTaintRule) {
	return func(rule *resourcev1.DeviceTaintRule) { orNew(&rule.Spec.Taint.TimeAdded, second(now)) }
}

// second returns the time to the second, as objects are stored.
func second(now func() time.Time) metav1.Time { return metav1.Time{Time: now().Truncate(time.Second)} }

// ResourcePoolStatusRequest sets the maximum number of pools in the response.
func ResourcePoolStatusRequest(request *upstreamv1alpha3.ResourcePoolStatusRequest) {
	orNew(&request.Spec.Limit, upstreamv1alpha3.ResourcePoolStatusRequestLimitDefault)
}
