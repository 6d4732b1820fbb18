package devicetaint

import (
	"time"

	resourcev1 "k8s.io/api/resource/v1"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/claims"
)

// Sources have the claims of pods and the taints of devices.
type Sources struct {
	Claim func(namespace, name string) (*resource.ResourceClaim, bool)
	// Slices returns the slices of a pool.
	Slices func(driver, pool string) []*resourcev1.ResourceSlice
	Rules  []*resourcev1.DeviceTaintRule
}

// Causes returns the taints that evict a pod, immediately or when its tolerations end, or "".
func (s Sources) Causes(pod *core.Pod) string {
	verdict, ends := judge(pod, s.ends(pod), time.Duration(0))
	if !ends {
		return ""
	}
	return verdict.Causes
}

// ends returns the end of the pod's use of each device with a taint.
func (s Sources) ends(pod *core.Pod) []tolerationEnd {
	var out []tolerationEnd
	for _, name := range claims.Uses(pod) {
		claim, ok := s.Claim(pod.Namespace, name)
		if !ok || !uses(pod, claim) {
			continue
		}
		for i := range claim.Status.Allocation.Devices.Results {
			result := &claim.Status.Allocation.Devices.Results[i]
			for _, t := range s.taints(deviceOf(result)) {
				if e, ok := endOf(t, result.Tolerations); ok {
					out = append(out, e)
				}
			}
		}
	}
	return out
}

// taints returns the NoExecute taints of a device.
func (s Sources) taints(d device) []taint {
	out := published(s.Slices(d.driver, d.pool), d)
	for _, rule := range s.Rules {
		if evicts(rule) && selects(rule, d) {
			out = append(out, taintOf(rule))
		}
	}
	return out
}
