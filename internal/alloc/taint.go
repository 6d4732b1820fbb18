package alloc

import (
	"fmt"

	"github.com/allot-dev/allot/internal/model"
)

// closedBy says why a device is not given to those who ask for this, whoever has it; "" if it is.
func closedBy(device *model.Device, rules *model.RuleTaints, want *selection) string {
	if device.Lacks != "" {
		return "needs the feature " + device.Lacks + ", which is off"
	}
	return taintedBy(device, rules, want)
}

// taintedBy says which taint keeps a device from those who ask for this, "" if none does.
func taintedBy(device *model.Device, rules *model.RuleTaints, want *selection) string {
	for i := range device.Taints {
		if taint := &device.Taints[i]; model.Bars(taint) && !model.Tolerated(taint, want.tolerations) {
			return "is tainted with " + model.TaintText(taint)
		}
	}
	why := ""
	rules.Each(device.Name, func(rule *model.TaintRule) bool {
		if model.Bars(&rule.Taint) && !model.Tolerated(&rule.Taint, want.tolerations) {
			why = fmt.Sprintf("is tainted with %s by DeviceTaintRule %s", model.TaintText(&rule.Taint), rule.Name)
		}
		return why == ""
	})
	return why
}
