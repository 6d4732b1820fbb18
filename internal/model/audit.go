package model

import (
	"fmt"
	"strings"
)

// store is a store of a State, for Dump and Audit.
type store interface {
	// dump writes the objects of the store and what it derives, in a fixed order.
	dump(b *strings.Builder)
	// replay puts the objects of the store into another State.
	replay(into *State)
}

// auditor is a store with invariants that no dump shows, because they depend on earlier changes and
// look-ups.
type auditor interface {
	store
	audit() error
}

// stores returns all stores, in an order in which they can be replayed.
func (s *State) stores() []store {
	return []store{
		&s.Namespaces, &s.Nodes, &s.Images, &s.Volumes, &s.Services, &s.Classes, &s.Pods, &s.Claims,
		&s.Budgets, &s.Nominations, &s.Devices, &s.TaintRules, &s.Groups, &s.Groups.Composites, &s.Terms,
	}
}

// Audit checks the invariants of each store. It replays all objects into a new State, compares what
// the two have derived, and then checks what each store has invariants of its own for. It costs as
// much as the State is large; tests and an operator's check call it, placement never does.
func (s *State) Audit() error {
	fresh := NewState()
	for _, store := range s.stores() {
		store.replay(fresh)
	}
	s.Devices.settle()
	fresh.Devices.settle()
	replayed := fresh.stores()
	for i, store := range s.stores() {
		if err := compareStores(store, replayed[i]); err != nil {
			return err
		}
		if a, ok := store.(auditor); ok {
			if err := a.audit(); err != nil {
				return err
			}
		}
	}
	return nil
}

// compareStores returns an error for the first line in which the dumps of two stores differ.
func compareStores(store, replayed store) error {
	var a, b strings.Builder
	store.dump(&a)
	replayed.dump(&b)
	have, want := strings.Split(a.String(), "\n"), strings.Split(b.String(), "\n")
	for i := range min(len(have), len(want)) {
		if have[i] != want[i] {
			return fmt.Errorf("state has drifted: has %q, should have %q", have[i], want[i])
		}
	}
	if len(have) != len(want) {
		return fmt.Errorf("state has drifted: %T has %d lines, should have %d", store, len(have), len(want))
	}
	return nil
}

func (s *NamespaceStore) replay(into *State) {
	for name, labels := range s.labels {
		into.Namespaces.set(name, labels)
	}
}

func (s *NodeStore) replay(into *State) {
	for name, info := range s.byName {
		if info.Node != nil {
			into.Nodes.set(name, info.Node)
		}
	}
}

// replay does nothing: images come with the nodes.
func (s *ImageStore) replay(*State) {}

func (s *VolumeStore) replay(into *State) {
	for key, claim := range s.claims {
		into.Volumes.setClaim(key, claim)
	}
	for name, volume := range s.volumes {
		into.Volumes.set(name, volume)
	}
	for node, limits := range s.limits {
		into.Volumes.setLimits(node, limits)
	}
}

func (s *ServiceStore) replay(into *State) {
	for _, service := range s.all() {
		into.Services.set(service.Key, service)
	}
}

func (s *ClassStore) replay(into *State) {
	for name, class := range s.byName {
		into.Classes.set(name, class)
	}
}

func (s *PodStore) replay(into *State) {
	for key, entry := range s.entries {
		into.Pods.set(key, entry)
	}
}

func (s *ClaimStore) replay(into *State) {
	for key, entry := range s.entries {
		into.Claims.set(key, entry)
	}
}

func (s *BudgetStore) replay(into *State) {
	for namespace, budgets := range s.byNamespace {
		into.Budgets.set(namespace, budgets)
	}
}

func (s *NominationStore) replay(into *State) {
	for key, n := range s.byUnit {
		into.Nominations.set(key, n)
	}
}

func (s *DeviceStore) replay(into *State) {
	for name, slice := range s.slices {
		into.Devices.setSlice(name, slice)
	}
	for id := range s.quarantined {
		into.Devices.setQuarantine(id, true)
	}
}

func (s *TaintRuleStore) replay(into *State) {
	for name, rule := range s.byName {
		into.TaintRules.set(name, rule)
	}
}

func (s *GroupStore) replay(into *State) {
	for key, entry := range s.entries {
		if entry.group != nil {
			into.Groups.set(key, entry.group)
		}
	}
}

// replay puts the CompositePodGroups. Their children come with the groups.
func (s *CompositeStore) replay(into *State) {
	for key, entry := range s.entries {
		if entry.composite != nil {
			into.Groups.Composites.set(key, entry.composite)
		}
	}
}

// replay does nothing: terms come with the pods.
func (s *TermStore) replay(*State) {}
