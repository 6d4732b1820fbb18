package model

// TaintRuleStore holds the DeviceTaintRules.
type TaintRuleStore struct {
	byName map[string]*TaintRule
	state  *State
	log    *undoLog
}

func newTaintRuleStore(s *State) TaintRuleStore {
	return TaintRuleStore{byName: map[string]*TaintRule{}, state: s, log: &s.log}
}

// Put adds or replaces a DeviceTaintRule. It takes time in proportion to the number of pools that
// the rule can apply to.
func (s *TaintRuleStore) Put(rule *TaintRule) []Topic {
	old := s.byName[rule.Name]
	if old != nil && outdated(old.UID, rule.UID, old.Version, rule.Version) {
		return nil
	}
	if sameTaintRule(old, rule) {
		// Keep the old rule, because alloc caches results for the pools.
		version := old.Version
		s.log.record(func() { old.Version = version })
		old.Version = rule.Version
		return nil
	}
	return s.change(rule.Name, rule)
}

// Delete removes a DeviceTaintRule.
func (s *TaintRuleStore) Delete(name string) []Topic {
	if _, ok := s.byName[name]; !ok {
		return nil
	}
	return s.change(name, nil)
}

// change wakes units that wait for devices only if a taint that prevented allocation was removed or
// changed.
func (s *TaintRuleStore) change(name string, rule *TaintRule) []Topic {
	old := s.byName[name]
	s.set(name, rule)
	if old == nil || !old.Selects || !PreventsAllocation(&old.Taint) {
		return nil
	}
	return []Topic{{Kind: TopicDevices}}
}

func (s *TaintRuleStore) set(name string, rule *TaintRule) {
	old := s.byName[name]
	s.log.record(func() { s.set(name, old) })
	if old != nil {
		delete(s.byName, name)
		s.eachPoolOf(old, func(entry *poolEntry) {
			entry.rules = entry.rules.withoutRule(name)
			s.state.Nodes.changes.renew(entry)
			s.state.Nodes.changes.recordPool(entry)
		})
	}
	if rule != nil {
		s.byName[name] = rule
		s.eachPoolOf(rule, func(entry *poolEntry) {
			entry.rules = entry.rules.withRule(rule)
			s.state.Nodes.changes.renew(entry)
			s.state.Nodes.changes.recordPool(entry)
		})
	}
}

// eachPoolOf calls f with the published pools with devices that the rule applies to.
func (s *TaintRuleStore) eachPoolOf(rule *TaintRule, f func(*poolEntry)) {
	s.state.Devices.settle()
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
		if entry, ok := s.state.Devices.pools[id]; ok {
			visit(id, entry)
		}
		return
	}
	for id, entry := range s.state.Devices.pools {
		visit(id, entry)
	}
}

// taintsOf returns the rules for a pool.
func (s *TaintRuleStore) taintsOf(pool *Pool) *RuleTaints {
	var taints *RuleTaints
	for _, rule := range s.byName {
		if !rule.matchesPool(pool.ID) {
			continue
		}
		if _, has := pool.Index(rule.Device); rule.Device == "" || has {
			taints = taints.withRule(rule)
		}
	}
	return taints
}
