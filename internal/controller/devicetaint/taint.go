package devicetaint

import (
	"fmt"
	"math"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/resourceclaim"

	"github.com/allot-dev/allot/internal/controller/eviction"
)

// device identifies a device.
type device struct{ driver, pool, name string }

func deviceOf(r *resourcev1.DeviceRequestAllocationResult) device {
	return device{r.Driver, r.Pool, r.Device}
}

func (d device) String() string { return d.driver + "/" + d.pool + "/" + d.name }

// taint is a NoExecute taint of a device with its origin.
type taint struct {
	resourcev1.DeviceTaint
	rule   types.UID // "" for a taint of the slice
	source string    // description for messages
}

// selects reports whether a rule selects a device. A rule without a selector selects none.
func selects(rule *resourcev1.DeviceTaintRule, d device) bool {
	s := rule.Spec.DeviceSelector
	return s != nil && fits(s.Driver, d.driver) && fits(s.Pool, d.pool) && fits(s.Device, d.name)
}

func fits(want *string, have string) bool { return want == nil || *want == have }

// evicts reports whether the rule can evict pods.
func evicts(rule *resourcev1.DeviceTaintRule) bool {
	return rule.Spec.Taint.Effect == resourcev1.DeviceTaintEffectNoExecute
}

// taintOf returns the taint of a rule with the effect NoExecute.
func taintOf(rule *resourcev1.DeviceTaintRule) taint {
	t := taint{DeviceTaint: rule.Spec.Taint, rule: rule.UID, source: "DeviceTaintRule " + rule.Name}
	t.Effect = resourcev1.DeviceTaintEffectNoExecute
	return t
}

// newest returns the slices of one pool with the highest generation.
func newest(slices []*resourcev1.ResourceSlice) []*resourcev1.ResourceSlice {
	highest := int64(math.MinInt64)
	var out []*resourcev1.ResourceSlice
	for _, s := range slices {
		switch generation := s.Spec.Pool.Generation; {
		case generation > highest:
			highest, out = generation, []*resourcev1.ResourceSlice{s}
		case generation == highest:
			out = append(out, s)
		}
	}
	return out
}

// published returns the NoExecute taints of a device in the slices of its pool.
func published(slices []*resourcev1.ResourceSlice, d device) []taint {
	var out []taint
	for _, s := range newest(slices) {
		for i := range s.Spec.Devices {
			if s.Spec.Devices[i].Name != d.name {
				continue
			}
			for _, t := range s.Spec.Devices[i].Taints {
				if t.Effect == resourcev1.DeviceTaintEffectNoExecute {
					out = append(out, taint{DeviceTaint: t, source: fmt.Sprintf("ResourceSlice %s, device %s", s.Name, d)})
				}
			}
		}
	}
	return out
}

// tolerationEnd is the time at which a taint ends the use of a device.
type tolerationEnd struct {
	taint taint
	time  time.Time // zero means immediately
	// tolerated means that a toleration granted the time until at.
	tolerated bool
}

// endOf returns when a taint ends the use of a device by a claim with these tolerations. It returns
// false if the taint is tolerated without limit.
func endOf(t taint, tolerations []resourcev1.DeviceToleration) (tolerationEnd, bool) {
	left := int64(-1) // seconds; -1 means no toleration
	for _, toleration := range tolerations {
		if !resourceclaim.ToleratesTaint(toleration, t.DeviceTaint) {
			continue
		}
		if toleration.Effect != resourcev1.DeviceTaintEffectNoExecute || toleration.TolerationSeconds == nil {
			return tolerationEnd{}, false
		}
		if seconds := max(*toleration.TolerationSeconds, 0); left < 0 || seconds < left {
			left = seconds
		}
	}
	e := tolerationEnd{taint: t, tolerated: left >= 0}
	if t.TimeAdded != nil {
		e.time = t.TimeAdded.Add(eviction.Seconds(left))
	}
	return e, true
}
