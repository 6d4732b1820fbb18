package alloc

import (
	"fmt"

	"github.com/allot-dev/allot/internal/model"
)

// barredBy says why a device can never be given to those who ask for this, "" if it can.
func barredBy(device *model.Device, rules *model.RuleTaints, want *selection) string {
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
	if why != "" {
		return why
	}
	_, why = consumed(device, want.capacity)
	return why
}
