package preempt

import (
	"cmp"
	"slices"
	"time"

	"github.com/allot-dev/allot/internal/model"
)

// victim is a set of pods that can only be evicted together:
//
//   - a pod; also one of a group, unless one of the following holds;
//   - all pods of a group that has the disruption mode All;
//   - all pods of a tree of groups whose root, or another CompositePodGroup, is disrupted as a whole;
//   - all pods of a gang that has no more than minCount: with one less it would be of no use. A
//     gang that has more consists of single pods, but if too many of them are evicted, all are;
//   - no pod, but the devices of a group that runs none.
//
// The priority is the group's, where it has one.
type victim struct {
	key        model.Key   // key of the pod or the group
	group      model.Key   // whose pods or claims these are, if any
	wholeGroup bool        // all of the group
	tree       *model.Tree // the CompositePodGroup whose pods these are, if it is evicted as a whole
	priority   int32
	pods       []*model.Pod
	claims     []model.Key // claims of a group that runs no pod
	gang       *gang       // gang that can do without the pod only as long as it keeps enough others
	started    time.Time   // time at which the first of the pods started
	violates   bool        // a budget, if the less important victims are evicted, too
	fabric     bool        // holds devices that are not tied to one node
	rank       int         // rank in order of importance, without regard to budgets
}

// gang is a gang that has more pods than it needs.
type gang struct {
	size    int
	victims []*victim // victims that are not evicted yet
	surplus int       // how many of these the gang can do without
}

// holdsOnlyDevices reports whether no pod has to be evicted.
func (v *victim) holdsOnlyDevices() bool { return len(v.pods) == 0 }

// isOfGroup reports whether the victim is a group, or a pod of one.
func (v *victim) isOfGroup() bool { return v.tree != nil || v.group != model.Key{} }

// consumers returns the groups of the victim, whose claims may be reclaimed.
func (v *victim) consumers(state *model.State) []model.Consumer {
	if v.tree == nil {
		group, ok := state.Groups.Get(v.group)
		if !ok {
			return nil
		}
		return []model.Consumer{model.GroupConsumer(group.Key.Name, group.UID)}
	}
	var list []model.Consumer
	for _, group := range v.tree.Groups() {
		list = append(list, model.GroupConsumer(group.Key.Name, group.UID))
	}
	for composite := range v.tree.Composites {
		list = append(list, model.CompositeConsumer(composite.Key.Name, composite.UID))
	}
	return list
}

// isOn reports whether a pod of the victim is on one of the nodes.
func (v *victim) isOn(nodes map[string]bool) bool {
	return slices.ContainsFunc(v.pods, func(pod *model.Pod) bool { return nodes[pod.Node] })
}

// eachClaim calls f with the claims of the victim that have devices.
func (v *victim) eachClaim(state *model.State, f func(*model.Claim)) {
	visit := func(key model.Key) {
		if claim, ok := state.Claims.Get(key); ok && claim.Allocation != nil {
			f(claim)
		}
	}
	for _, pod := range v.pods {
		for name := range pod.ClaimNames {
			visit(model.Key{Namespace: pod.Key.Namespace, Name: name})
		}
	}
	for _, key := range v.claims {
		visit(key)
	}
}

// compareVictims orders victims, the least important first.
func compareVictims(a, b *victim) int {
	return cmp.Or(
		compareFlags(b.holdsOnlyDevices(), a.holdsOnlyDevices()),
		compareFlags(a.violates, b.violates),
		cmp.Compare(a.priority, b.priority),
		compareFlags(a.isOfGroup(), b.isOfGroup()),
		cmp.Compare(len(a.pods), len(b.pods)),
		b.started.Compare(a.started),
		model.CompareKeys(a.key, b.key),
		compareFlags(a.wholeGroup, b.wholeGroup),
	)
}

func compareFlags(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// withGangs returns the victims, and those that must be evicted with them because their gang is
// left with too few pods.
func withGangs(victims []*victim) []*victim {
	counts := map[*gang]int{}
	for _, v := range victims {
		if v.gang != nil {
			counts[v.gang]++
		}
	}
	all := slices.Clone(victims)
	for g, n := range counts {
		if n <= g.surplus || n == len(g.victims) {
			continue
		}
		for _, v := range g.victims {
			if !slices.Contains(all, v) {
				all = append(all, v)
			}
		}
	}
	slices.SortFunc(all, compareVictims)
	return all
}
