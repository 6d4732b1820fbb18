package alloc

import (
	"fmt"
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/resourceclaim"

	"github.com/allot-dev/allot/internal/model"
)

// barredBy says why a device can never be given to those who ask for this, "" if it can.
func barredBy(device *model.Device, want *selection) string {
	for i := range device.Taints {
		taint := &device.Taints[i]
		prevents := taint.Effect == resourcev1.DeviceTaintEffectNoSchedule || taint.Effect == resourcev1.DeviceTaintEffectNoExecute
		if prevents && !tolerated(taint, want.tolerations) {
			return "is tainted with " + taintText(taint)
		}
	}
	if device.NodeResources {
		return "has nodeAllocatableResources, which are not supported yet"
	}
	_, why := consumed(device, want.capacity)
	return why
}

func tolerated(taint *resourcev1.DeviceTaint, tolerations []resourcev1.DeviceToleration) bool {
	return slices.ContainsFunc(tolerations, func(t resourcev1.DeviceToleration) bool {
		return resourceclaim.ToleratesTaint(t, *taint)
	})
}

func taintText(taint *resourcev1.DeviceTaint) string {
	if taint.Value == "" {
		return fmt.Sprintf("%s:%s", taint.Key, taint.Effect)
	}
	return fmt.Sprintf("%s=%s:%s", taint.Key, taint.Value, taint.Effect)
}
