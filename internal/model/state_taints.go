package model

import (
	"fmt"
	"maps"
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
)

// PutTaintRule adds or replaces a DeviceTaintRule. It costs as much as there are pools that the rule can be about.
func (s *State) PutTaintRule(rule *TaintRule) []Topic {
	old := s.rules[rule.Name]
	if old != nil && outdated(old.UID, rule.UID, old.Version, rule.Version) {
		return nil
	}
	if sameTaintRule(old, rule) {
		// What alloc has worked out about the pools still holds.
		version := old.Version
		s.record(func() { old.Version = version })
		old.Version = rule.Version
		return nil
	}
	return s.changeTaintRule(rule.Name, rule)
}

// DeleteTaintRule forgets a DeviceTaintRule.
func (s *State) DeleteTaintRule(name string) []Topic {
	if _, ok := s.rules[name]; !ok {
		return nil
	}
	return s.changeTaintRule(name, nil)
}

// changeTaintRule wakes those who wait for devices only if a taint that barred some is gone, or is another.
func (s *State) changeTaintRule(name string, rule *TaintRule) []Topic {
	old := s.rules[name]
	s.setTaintRule(name, rule)
	if old == nil || !old.Selects || !Bars(&old.Taint) {
		return nil
	}
	return []Topic{{Kind: TopicDevices}}
}

func (s *State) setTaintRule(name string, rule *TaintRule) {
	old := s.rules[name]
	s.record(func() { s.setTaintRule(name, old) })
	if old != nil {
		delete(s.rules, name)
		s.eachPoolOf(old, func(entry *poolEntry) {
			entry.rules = entry.rules.without(name)
			s.changes.notePool(entry)
		})
	}
	if rule != nil {
		s.rules[name] = rule
		s.eachPoolOf(rule, func(entry *poolEntry) {
			entry.rules = entry.rules.with(rule)
			s.changes.notePool(entry)
		})
	}
}

// eachPoolOf finds the published pools with devices that the rule is about.
func (s *State) eachPoolOf(rule *TaintRule, f func(*poolEntry)) {
	s.settle()
	visit := func(id PoolID, entry *poolEntry) {
		if entry.pool == nil || !rule.matchesPool(id) {
			return
		}
		if _, has := entry.pool.Index(rule.Device); rule.Device == "" || has {
			f(entry)
		}
	}
	if rule.Driver != "" && rule.Pool != "" {
		id := PoolID{Driver: rule.Driver, Pool: rule.Pool}
		if entry, ok := s.pools[id]; ok {
			visit(id, entry)
		}
		return
	}
	for id, entry := range s.pools {
		visit(id, entry)
	}
}

// ruleTaints gathers the rules for a pool that is published anew.
func (s *State) ruleTaints(pool *Pool) *RuleTaints {
	var taints *RuleTaints
	for _, rule := range s.rules {
		if !rule.matchesPool(pool.ID) {
			continue
		}
		if _, has := pool.Index(rule.Device); rule.Device == "" || has {
			taints = taints.with(rule)
		}
	}
	return taints
}

// Evicts finds a taint that evicts who uses the claim: NoExecute, on one of its devices, and not tolerated. Rules count
// also for devices that are no longer published.
func (s *State) Evicts(claim *Claim) (DeviceID, *resourcev1.DeviceTaint, bool) {
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

// Damaged returns why a device of a claim would not be given out again: it has a taint that is not tolerated, or its pool does not
// publish it any more. It is "" if there is none, and while a pool is incomplete.
func (s *State) Damaged(claim *Claim) string {
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

// taints are those of the device's slice, and then those of rules.
func (s *State) taints(id DeviceID) []*resourcev1.DeviceTaint {
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
	for _, name := range slices.Sorted(maps.Keys(s.rules)) {
		if s.rules[name].matches(id) {
			list = append(list, &s.rules[name].Taint)
		}
	}
	return list
}
