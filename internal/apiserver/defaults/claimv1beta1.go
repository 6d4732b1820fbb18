package defaults

import (
	"time"

	upstreamv1beta1 "k8s.io/api/resource/v1beta1"

	resourcev1beta1 "github.com/allot-dev/allot/api/resource/v1beta1"
)

// ResourceClaimV1beta1 sets the defaults of ResourceClaim before the conversion to v1.
func ResourceClaimV1beta1(claim *resourcev1beta1.ResourceClaim) {
	claimSpecV1beta1(&claim.Spec)
	if claim.Status.Allocation != nil {
		results := claim.Status.Allocation.Devices.Results
		for i := range results {
			tolerationsV1beta1(results[i].Tolerations)
		}
	}
}

// ResourceClaimTemplateV1beta1 sets the defaults of the claims that are generated from it.
func ResourceClaimTemplateV1beta1(template *resourcev1beta1.ResourceClaimTemplate) {
	claimSpecV1beta1(&template.Spec.Spec)
}

// claimSpecV1beta1 skips requests without a class: these have subrequests, and must not have other
// fields.
func claimSpecV1beta1(spec *resourcev1beta1.ResourceClaimSpec) {
	for i := range spec.Devices.Requests {
		request := &spec.Devices.Requests[i]
		if request.DeviceClassName != "" {
			allocationModeV1beta1(&request.AllocationMode, &request.Count)
		}
		tolerationsV1beta1(request.Tolerations)
		for j := range request.FirstAvailable {
			sub := &request.FirstAvailable[j]
			allocationModeV1beta1(&sub.AllocationMode, &sub.Count)
			tolerationsV1beta1(sub.Tolerations)
		}
	}
}

func allocationModeV1beta1(mode *upstreamv1beta1.DeviceAllocationMode, count *int64) {
	orElse(mode, upstreamv1beta1.DeviceAllocationModeExactCount)
	if *mode == upstreamv1beta1.DeviceAllocationModeExactCount {
		orElse(count, 1)
	}
}

func tolerationsV1beta1(list []upstreamv1beta1.DeviceToleration) {
	for i := range list {
		orElse(&list[i].Operator, upstreamv1beta1.DeviceTolerationOpEqual)
	}
}

// ResourceSliceV1beta1 does what ResourceSlice does, before the conversion to v1.
func ResourceSliceV1beta1(now func() time.Time) func(*upstreamv1beta1.ResourceSlice) {
	return func(slice *upstreamv1beta1.ResourceSlice) {
		for i := range slice.Spec.Devices {
			if basic := slice.Spec.Devices[i].Basic; basic != nil {
				for j := range basic.Taints {
					orNew(&basic.Taints[j].TimeAdded, second(now))
				}
			}
		}
	}
}
