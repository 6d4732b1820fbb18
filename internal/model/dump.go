package model

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Dump writes everything that the State holds and has derived, in a fixed order. Two States that
// give the same results for all look-ups have equal dumps.
func (s *State) Dump() string {
	s.Devices.settle()
	var b strings.Builder
	for _, store := range s.stores() {
		store.dump(&b)
	}
	return b.String()
}

func (s *NodeStore) dump(b *strings.Builder) {
	for _, info := range s.List() {
		fmt.Fprintf(b, "known node %s\n", info.Name)
	}
	for _, info := range sorted(s.byName, strings.Compare) {
		fmt.Fprintf(b, "node %s: free %v ports %v pods", info.Name, info.Free, info.Ports)
		for _, pod := range sorted(info.Pods, CompareKeys) {
			fmt.Fprintf(b, " %s", pod.Key)
		}
		if info.Node != nil {
			fmt.Fprintf(b, " %s", text(info.Node))
		}
		b.WriteByte('\n')
	}
}

func (s *PodStore) dump(b *strings.Builder) {
	for _, entry := range sorted(s.entries, CompareKeys) {
		fmt.Fprintf(b, "pod %s: uid %s version %d node %q assumed %q ready %v\n",
			entry.pod.Key, entry.pod.UID, entry.observed.Version, entry.pod.Node, entry.node, entry.pod.Ready())
	}
	fmt.Fprintf(b, "priorities %v\n", s.priorities)
	for _, set := range slices.Sorted(maps.Keys(s.sets)) {
		fmt.Fprintf(b, "set %s: %v\n", set, byNodeName(s.sets[set]))
	}
}

func (s *GroupStore) dump(b *strings.Builder) {
	for _, key := range sortedKeys(s.entries, CompareKeys) {
		entry := s.entries[key]
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

func (s *CompositeStore) dump(b *strings.Builder) {
	for _, key := range sortedKeys(s.entries, CompareKeys) {
		entry := s.entries[key]
		fmt.Fprintf(b, "composite %s: composites %v groups %v", key, entry.composites, entry.groups)
		if entry.composite != nil {
			fmt.Fprintf(b, " %s", text(entry.composite))
		}
		b.WriteByte('\n')
	}
}

func (s *ClaimStore) dump(b *strings.Builder) {
	for _, entry := range sorted(s.entries, CompareKeys) {
		if entry.observed == nil && entry.pending == nil {
			continue // expected, and not a claim yet
		}
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
			if made := entry.pending.NewClaim; made != nil {
				fmt.Fprintf(b, "  to be made for %s: %s\n", made.Controller, text(made.Requests))
			}
			fmt.Fprintf(b, "  pending allocation %v consumers %v any pod %v\n", entry.pending.Allocation != nil,
				entry.pending.Consumers, entry.pending.AnyPod)
		}
	}
}

func (s *DeviceStore) dump(b *strings.Builder) {
	for _, slice := range sorted(s.slices, strings.Compare) {
		fmt.Fprintf(b, "slice %s: %s generation %d of %d devices %d\n", slice.Name, slice.Pool, slice.Generation,
			slice.PoolSlices, len(slice.Devices))
	}
	for _, id := range sortedKeys(s.pools, func(x, y PoolID) int { return strings.Compare(x.String(), y.String()) }) {
		entry := s.pools[id]
		fmt.Fprintf(b, "pool %s: taken %v shared %v nodes", id, entry.inUse, entry.shared)
		for _, node := range entry.nodes {
			fmt.Fprintf(b, " %s", node.Name)
		}
		for _, device := range sortedKeys(entry.holdings, strings.Compare) {
			h := entry.holdings[device]
			fmt.Fprintf(b, " %s held by %v, %d whole", device, h.holders, h.wholeHolders)
			for _, name := range sortedKeys(h.consumed, cmp.Compare[resourcev1.QualifiedName]) {
				given := h.consumed[name].DeepCopy()
				fmt.Fprintf(b, " %s %s", name,
					resource.NewDecimalQuantity(*given.AsDec(), resource.DecimalSI)) // one text for equal amounts
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
	for _, info := range sorted(s.state.Nodes.byName, strings.Compare) {
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

func (s *ClassStore) dump(b *strings.Builder) {
	for _, class := range sorted(s.byName, strings.Compare) {
		fmt.Fprintf(b, "class %s\n", text(class))
	}
}

func (s *TaintRuleStore) dump(b *strings.Builder) {
	for _, rule := range sorted(s.byName, strings.Compare) {
		fmt.Fprintf(b, "rule %s\n", text(rule))
	}
}

func (s *TermStore) dump(b *strings.Builder) {
	for _, count := range sorted(s.counted.byID, strings.Compare) {
		fmt.Fprintf(b, "asked %s: users %d total %d by %v\n", count.term.ID, count.users, count.total, count.byValue)
	}
	for _, count := range sorted(s.bearer.byID, strings.Compare) {
		fmt.Fprintf(b, "bearer %s: weight %d forbids %v users %d total %d by %v\n",
			count.term.ID, count.weight, count.forbids, count.users, count.total, count.byValue)
	}
}

func (s *ImageStore) dump(b *strings.Builder) {
	for _, image := range slices.Sorted(maps.Keys(s.byName)) {
		fmt.Fprintf(b, "image %s: %v\n", image, byNodeName(s.byName[image]))
	}
}

func (s *VolumeStore) dump(b *strings.Builder) {
	for _, claim := range sorted(s.claims, CompareKeys) {
		fmt.Fprintf(b, "volume claim %s\n", text(claim))
	}
	for _, volume := range sorted(s.volumes, strings.Compare) {
		fmt.Fprintf(b, "volume %s\n", text(volume))
	}
	for _, claim := range sortedKeys(s.users, CompareKeys) {
		fmt.Fprintf(b, "mounters of %s: %d\n", claim, s.users[claim])
	}
	for _, node := range slices.Sorted(maps.Keys(s.usersByNode)) {
		fmt.Fprintf(b, "mounted on %s: %v\n", node, s.usersByNode[node])
	}
	for _, limits := range sorted(s.limits, strings.Compare) {
		fmt.Fprintf(b, "volume limits %s\n", text(limits))
	}
}

func (s *ServiceStore) dump(b *strings.Builder) {
	for _, service := range s.all() {
		fmt.Fprintf(b, "service %s\n", text(service))
	}
}

func (s *NamespaceStore) dump(b *strings.Builder) {
	fmt.Fprintf(b, "namespaces %v\n", s.labels)
}

func (s *BudgetStore) dump(b *strings.Builder) {
	for _, namespace := range sortedKeys(s.byNamespace, strings.Compare) {
		for _, budget := range s.byNamespace[namespace] {
			fmt.Fprintf(b, "budget %s\n", text(budget))
		}
	}
}

func (s *NominationStore) dump(b *strings.Builder) {
	for _, n := range sorted(s.byUnit, func(x, y UnitKey) int { return strings.Compare(x.String(), y.String()) }) {
		fmt.Fprintf(b, "kept for %s: %d pods %d claims, recalled %v\n", n.Unit, len(n.Pods), len(n.Devices), n.Reclaimed)
	}
}

func byNodeName[V any](of map[*NodeInfo]V) map[string]V {
	named := map[string]V{}
	for info, value := range of {
		named[info.Name] = value
	}
	return named
}

// text writes a value with what its pointers point to, so that equal values have equal texts.
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
