package model

import (
	"fmt"
	"maps"
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
)

// Evicts returns a taint that evicts the consumers of the claim: NoExecute, on one of its devices,
// and not tolerated. DeviceTaintRules also apply to devices that are no longer published.
func (s *DeviceStore) Evicts(claim *Claim) (DeviceID, *resourcev1.DeviceTaint, bool) {
	for _, result := range claim.Allocation.results() {
		id := DeviceIDOf(result)
		for _, taint := range s.taints(id) {
			if taint.Effect == resourcev1.DeviceTaintEffectNoExecute && !Tolerated(taint, result.Tolerations) {
				return id, taint, true
			}
		}
	}
	return DeviceID{}, nil, false
}

// DamageReason returns why a device of the claim would not be allocated again: it has a taint that
// is not tolerated, or its pool no longer publishes it. It returns "" if there is no such device,
// and while a pool is incomplete.
func (s *DeviceStore) DamageReason(claim *Claim) string {
	for _, result := range claim.Allocation.results() {
		id := DeviceIDOf(result)
		for _, taint := range s.taints(id) {
			if taint.Effect != resourcev1.DeviceTaintEffectNone && !Tolerated(taint, result.Tolerations) {
				return fmt.Sprintf("device %s, which is tainted with %s", id, TaintText(taint))
			}
		}
		pool, ok := s.Pool(id.PoolID())
		if !ok {
			return fmt.Sprintf("device %s, whose pool is not published any more", id)
		}
		if _, ok := pool.Index(id.Device); !ok && pool.IsUsable() {
			return fmt.Sprintf("device %s, which is not published any more", id)
		}
	}
	return ""
}

// taints returns the taints of the device in its slice, followed by those of DeviceTaintRules.
func (s *DeviceStore) taints(id DeviceID) []*resourcev1.DeviceTaint {
	s.settle()
	var list []*resourcev1.DeviceTaint
	entry := s.pools[id.PoolID()]
	if entry != nil && entry.pool != nil {
		if i, ok := entry.pool.Index(id.Device); ok {
			for t := range entry.pool.Devices[i].Taints {
				list = append(list, &entry.pool.Devices[i].Taints[t])
			}
			entry.rules.Each(id.Device, func(rule *TaintRule) bool {
				list = append(list, &rule.Taint)
				return true
			})
			return list
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.state.TaintRules.byName)) {
		if s.state.TaintRules.byName[name].matches(id) {
			list = append(list, &s.state.TaintRules.byName[name].Taint)
		}
	}
	return list
}
