package alloc

import (
	"fmt"

	"github.com/allot-dev/allot/internal/model"
)

// unavailableReason returns why the device is not available to the selection, or "". It ignores
// existing allocations.
func unavailableReason(device *model.Device, rules *model.RuleTaints, sel *selection) string {
	if device.MissingFeature != "" {
		return "needs the feature " + device.MissingFeature + ", which is off"
	}
	return taintReason(device, rules, sel)
}

// taintReason describes the taint that is not tolerated, or returns "".
func taintReason(device *model.Device, rules *model.RuleTaints, sel *selection) string {
	for i := range device.Taints {
		if taint := &device.Taints[i]; model.PreventsAllocation(taint) && !model.Tolerated(taint, sel.tolerations) {
			return "is tainted with " + model.TaintText(taint)
		}
	}
	why := ""
	rules.Each(device.Name, func(constraint *model.TaintRule) bool {
		if model.PreventsAllocation(&constraint.Taint) && !model.Tolerated(&constraint.Taint, sel.tolerations) {
			why = fmt.Sprintf("is tainted with %s by DeviceTaintRule %s", model.TaintText(&constraint.Taint), constraint.Name)
		}
		return why == ""
	})
	return why
}
