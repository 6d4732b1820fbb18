package preempt

import (
	"slices"
	"time"

	"github.com/allot-dev/allot/internal/model"
)

// addIdleGroups adds the groups and trees of groups that run no pod and keep devices for later
// ones: no pod has to be evicted.
func (g *gatherer) addIdleGroups() {
	state := g.trial.state
	idle := map[model.UnitKey][]model.Key{}
	state.Claims.Each(func(claim *model.Claim) bool {
		if claim.Allocation == nil || len(claim.Consumers) != 1 || claim.Deleting {
			return true
		}
		consumer := claim.Consumers[0]
		if !isGroup(consumer) && !isComposite(consumer) {
			return true
		}
		if key := unitOf(claim.Key.Namespace, consumer); g.trial.isEmpty(key) && !g.isOfUnit(key) {
			idle[key] = append(idle[key], claim.Key)
		}
		return true
	})
	for key, claims := range idle {
		first, _ := state.Claims.Get(claims[0])
		slices.SortFunc(claims, model.CompareKeys)
		if v := idleVictim(state, key, first.Consumers[0]); v != nil {
			v.claims = claims
			g.add(v)
		}
	}
}

// isOfUnit reports whether a consumer is a group of the unit, or in the same tree as the unit if it
// is a CompositePodGroup.
func (g *gatherer) isOfUnit(key model.UnitKey) bool {
	if key.Group {
		return slices.Contains(g.unit.GroupKeys(), key.Key)
	}
	root, ok := g.trial.state.RootOf(g.unit.Key)
	other, _ := g.trial.state.RootOf(key)
	return ok && root == other
}

// idleVictim returns a victim without pods for a consumer, or nil if that does not exist any more.
func idleVictim(state *model.State, key model.UnitKey, consumer model.Consumer) *victim {
	v := &victim{key: key.Key, wholeGroup: true}
	var created time.Time
	if key.Tree {
		composite, ok := state.Groups.Composites.Get(key.Key)
		if !ok || composite.UID != consumer.UID {
			return nil
		}
		v.tree, created = state.Tree(key.Key), composite.Created
	} else {
		group, ok := state.Groups.Get(key.Key)
		if !ok || group.UID != consumer.UID {
			return nil
		}
		v.group, created = key.Key, group.Created
	}
	v.started, v.priority = created, idlePriority(state, key)
	return v
}

// idlePriority returns the priority of a group or tree that runs no pod: its own, or that of its
// waiting pods, or 0 if it has none.
func idlePriority(state *model.State, key model.UnitKey) int32 {
	if group, ok := state.Groups.Get(key.Key); ok && key.Group && group.Priority != nil {
		return *group.Priority
	}
	if key.Tree {
		waiting := slices.DeleteFunc(state.Members(key), func(pod *model.Pod) bool { return pod.Finished })
		if root, _ := state.RootOf(key); len(waiting) > 0 || hasPriority(state, root) {
			return groupPriority(state, key, waiting)
		}
		return 0
	}
	unit, ok := state.Unit(state.UnitOfGroup(key.Key))
	if !ok {
		return 0
	}
	return unit.Priority
}

func hasPriority(state *model.State, tree model.Key) bool {
	composite, ok := state.Groups.Composites.Get(tree)
	return ok && composite.Priority != nil
}
