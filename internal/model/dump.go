package model

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Dump writes everything that the State holds and has derived, in a fixed order. Two States that answer all look-ups
// alike have equal dumps.
func (s *State) Dump() string {
	s.settle()
	var b strings.Builder
	s.dumpNodes(&b)
	s.dumpPods(&b)
	s.dumpClaims(&b)
	s.dumpPools(&b)
	for _, count := range sorted(s.terms.asked.byID, strings.Compare) {
		fmt.Fprintf(&b, "asked %s: users %d total %d by %v\n", count.term.ID, count.users, count.total, count.by)
	}
	for _, count := range sorted(s.terms.bearer.byID, strings.Compare) {
		fmt.Fprintf(&b, "bearer %s: weight %d forbids %v users %d total %d by %v\n",
			count.term.ID, count.weight, count.forbids, count.users, count.total, count.by)
	}
	for _, image := range slices.Sorted(maps.Keys(s.images.on)) {
		fmt.Fprintf(&b, "image %s: %v\n", image, byNode(s.images.on[image]))
	}
	for _, claim := range sorted(s.volumes.claims, compareKeys) {
		fmt.Fprintf(&b, "volume claim %s\n", text(claim))
	}
	for _, volume := range sorted(s.volumes.volumes, strings.Compare) {
		fmt.Fprintf(&b, "volume %s\n", text(volume))
	}
	for _, claim := range sortedKeys(s.volumes.users, compareKeys) {
		fmt.Fprintf(&b, "mounters of %s: %d\n", claim, s.volumes.users[claim])
	}
	for _, node := range slices.Sorted(maps.Keys(s.volumes.on)) {
		fmt.Fprintf(&b, "mounted on %s: %v\n", node, s.volumes.on[node])
	}
	for _, limits := range sorted(s.volumes.limits, strings.Compare) {
		fmt.Fprintf(&b, "volume limits %s\n", text(limits))
	}
	for _, service := range s.services.all() {
		fmt.Fprintf(&b, "service %s\n", text(service))
	}
	fmt.Fprintf(&b, "namespaces %v\n", s.namespaces)
	fmt.Fprintf(&b, "priorities %v\n", s.priorities)
	for _, set := range slices.Sorted(maps.Keys(s.sets)) {
		fmt.Fprintf(&b, "set %s: %v\n", set, byNode(s.sets[set]))
	}
	for _, namespace := range sortedKeys(s.budgets, strings.Compare) {
		for _, budget := range s.budgets[namespace] {
			fmt.Fprintf(&b, "budget %s\n", text(budget))
		}
	}
	for _, n := range sorted(s.nominations, func(x, y UnitKey) int { return strings.Compare(x.String(), y.String()) }) {
		fmt.Fprintf(&b, "kept for %s: %d pods %d claims, recalled %v\n", n.Unit, len(n.Pods), len(n.Claims), n.Recalled)
	}
	return b.String()
}

func (s *State) dumpNodes(b *strings.Builder) {
	for _, info := range s.Nodes() {
		fmt.Fprintf(b, "known node %s\n", info.Name)
	}
	for _, info := range sorted(s.nodes, strings.Compare) {
		fmt.Fprintf(b, "node %s: free %v ports %v pods", info.Name, info.Free, info.Ports)
		for _, pod := range sorted(info.Pods, compareKeys) {
			fmt.Fprintf(b, " %s", pod.Key)
		}
		if info.Node != nil {
			fmt.Fprintf(b, " %s", text(info.Node))
		}
		b.WriteByte('\n')
	}
}

func (s *State) dumpPods(b *strings.Builder) {
	for _, entry := range sorted(s.pods, compareKeys) {
		fmt.Fprintf(b, "pod %s: uid %s version %d node %q assumed %q ready %v\n",
			entry.pod.Key, entry.pod.UID, entry.observed.Version, entry.pod.Node, entry.node, entry.pod.Ready())
	}
	for _, key := range sortedKeys(s.groups, compareKeys) {
		entry := s.groups[key]
		fmt.Fprintf(b, "group %s: %+v %d own claims allocated, members", key, entry.census, entry.own)
		for _, pod := range s.Members(key) {
			fmt.Fprintf(b, " %s", pod.Key.Name)
		}
		if entry.group != nil {
			fmt.Fprintf(b, " %s", text(entry.group))
		}
		b.WriteByte('\n')
	}
}

func (s *State) dumpClaims(b *strings.Builder) {
	for _, class := range sorted(s.classes, strings.Compare) {
		fmt.Fprintf(b, "class %s\n", text(class))
	}
	for _, entry := range sorted(s.claims, compareKeys) {
		for _, claim := range []*Claim{entry.observed, entry.claim} {
			if claim == nil {
				continue
			}
			fmt.Fprintf(b, "claim %s: uid %s version %d consumers %v", claim.Key, claim.UID, claim.Version, claim.Consumers)
			if claim.Allocation != nil {
				fmt.Fprintf(b, " %s", text(claim.Allocation))
			}
			b.WriteByte('\n')
		}
		if entry.pending != nil {
			if made := entry.pending.Made; made != nil {
				fmt.Fprintf(b, "  to be made for %s: %s\n", made.Controller, text(made.Requests))
			}
			fmt.Fprintf(b, "  pending allocation %v consumers %v any pod %v\n", entry.pending.Allocation != nil, entry.pending.Consumers, entry.pending.AnyPod)
		}
	}
}

func (s *State) dumpPools(b *strings.Builder) {
	for _, rule := range sorted(s.rules, strings.Compare) {
		fmt.Fprintf(b, "rule %s\n", text(rule))
	}
	for _, slice := range sorted(s.slices, strings.Compare) {
		fmt.Fprintf(b, "slice %s: %s generation %d of %d devices %d\n", slice.Name, slice.Pool, slice.Generation, slice.PoolSlices, len(slice.Devices))
	}
	for _, id := range sortedKeys(s.pools, func(x, y PoolID) int { return strings.Compare(x.String(), y.String()) }) {
		entry := s.pools[id]
		fmt.Fprintf(b, "pool %s: taken %v shared %v nodes", id, entry.taken, entry.shared)
		for _, node := range entry.nodes {
			fmt.Fprintf(b, " %s", node.Name)
		}
		for _, device := range sortedKeys(entry.held, strings.Compare) {
			h := entry.held[device]
			fmt.Fprintf(b, " %s held by %v, %d whole", device, h.claims, h.whole)
			for _, name := range sortedKeys(h.given, func(x, y resourcev1.QualifiedName) int { return strings.Compare(string(x), string(y)) }) {
				given := h.given[name].DeepCopy()
				fmt.Fprintf(b, " %s %s", name, resource.NewDecimalQuantity(*given.AsDec(), resource.DecimalSI)) // one text for equal amounts
			}
		}
		if entry.pool != nil {
			usable, why := entry.pool.Usable()
			fmt.Fprintf(b, " usable %v %s devices", usable, why)
			for i := range entry.pool.Devices {
				fmt.Fprintf(b, " %s@%d", entry.pool.Devices[i].Name, entry.pool.ScopeOf(i))
				entry.rules.Each(entry.pool.Devices[i].Name, func(rule *TaintRule) bool {
					fmt.Fprintf(b, " (%s: %s)", rule.Name, TaintText(&rule.Taint))
					return true
				})
			}
		}
		b.WriteByte('\n')
	}
	for _, info := range sorted(s.nodes, strings.Compare) {
		fmt.Fprintf(b, "local %s:", info.Name)
		for _, entry := range info.local {
			fmt.Fprintf(b, " %s", entry.pool.ID)
		}
		b.WriteByte('\n')
	}
	b.WriteString("shared:")
	for _, entry := range s.sharedPools {
		fmt.Fprintf(b, " %s", entry.pool.ID)
	}
	b.WriteByte('\n')
}

// text writes a value with what its pointers point to, so that equal values have equal texts.
func byNode[V any](of map[*NodeInfo]V) map[string]V {
	named := map[string]V{}
	for info, value := range of {
		named[info.Name] = value
	}
	return named
}

func text(value any) string {
	out, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(out)
}

func sortedKeys[K comparable, V any](m map[K]V, compare func(a, b K) int) []K {
	return slices.SortedFunc(maps.Keys(m), compare)
}

func sorted[K comparable, V any](m map[K]V, compare func(a, b K) int) []V {
	list := make([]V, 0, len(m))
	for _, key := range sortedKeys(m, compare) {
		list = append(list, m[key])
	}
	return list
}

// Audit builds a second State from what this one was told, and compares what the two have derived. It costs as much
// as the State is large; tests and an operator's check call it, placement never does.
func (s *State) Audit() error {
	fresh := NewState()
	for name, labels := range s.namespaces {
		fresh.setNamespace(name, labels)
	}
	for name, info := range s.nodes {
		if info.Node != nil {
			fresh.setNode(name, info.Node)
		}
	}
	for key, claim := range s.volumes.claims {
		fresh.setVolumeClaim(key, claim)
	}
	for name, volume := range s.volumes.volumes {
		fresh.setVolume(name, volume)
	}
	for _, service := range s.services.all() {
		fresh.setService(service.Key, service)
	}
	for node, limits := range s.volumes.limits {
		fresh.setVolumeLimits(node, limits)
	}
	for name, class := range s.classes {
		fresh.setClass(name, class)
	}
	for key, entry := range s.pods {
		fresh.setPod(key, entry)
	}
	for key, entry := range s.claims {
		fresh.setClaim(key, entry)
	}
	for namespace, budgets := range s.budgets {
		fresh.setBudgets(namespace, budgets)
	}
	for key, n := range s.nominations {
		fresh.setNomination(key, n)
	}
	for name, slice := range s.slices {
		fresh.setSlice(name, slice)
	}
	for name, rule := range s.rules {
		fresh.setTaintRule(name, rule)
	}
	for key, entry := range s.groups {
		if entry.group != nil {
			fresh.setGroup(key, entry.group)
		}
	}
	have, want := strings.Split(s.Dump(), "\n"), strings.Split(fresh.Dump(), "\n")
	for i := range min(len(have), len(want)) {
		if have[i] != want[i] {
			return fmt.Errorf("state has drifted: has %q, should have %q", have[i], want[i])
		}
	}
	if len(have) != len(want) {
		return fmt.Errorf("state has drifted: %d lines, should have %d", len(have), len(want))
	}
	if err := s.auditChanges(); err != nil {
		return err
	}
	return s.auditServices()
}
