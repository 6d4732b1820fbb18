package preempt

import (
	"math"
	"slices"

	"github.com/allot-dev/allot/internal/model"
)

// wholeTree returns the topmost CompositePodGroup above a group that is evicted as a whole: its
// disruption mode is All, or it is a gang of groups, which would be of no use without some of them.
func wholeTree(state *model.State, group model.Key) (root model.Key, ok bool) {
	for _, key := range state.Above(group) {
		if c, known := state.Groups.Composites.Get(key); known && (c.Whole || c.Gang) {
			root, ok = key, true
		}
	}
	return root, ok
}

// addTree adds the pods of a tree that are on nodes as one victim, and returns them instead if some
// are about to terminate: the others follow.
func (g *gatherer) addTree(key model.Key) (terminating []*model.Pod) {
	state := g.trial.state
	pods, settled := runningInTree(state, key)
	if slices.ContainsFunc(pods, g.isChosen) {
		return pods
	}
	if len(pods) > 0 && settled {
		g.add(&victim{
			key: key, tree: state.Tree(key), wholeGroup: true, pods: pods,
			priority: groupPriority(state, model.UnitKey{Tree: true, Key: key}, pods),
		})
	}
	return nil
}

// runningInTree returns the pods of a tree that are on nodes and not being deleted, and whether none
// is being bound.
func runningInTree(state *model.State, key model.Key) (pods []*model.Pod, settled bool) {
	settled = true
	for leaf := range state.Tree(key).Leaves {
		running, complete := runningPods(state, leaf.Group.Key)
		pods = append(pods, running...)
		settled = settled && complete
	}
	return pods, settled
}

// groupPriority returns the priority of pods of a PodGroup or CompositePodGroup: that of the root of
// its tree, otherwise its own, otherwise that of the most important pod.
func groupPriority(state *model.State, unit model.UnitKey, pods []*model.Pod) int32 {
	if root, ok := state.RootOf(unit); ok {
		if c, known := state.Groups.Composites.Get(root); known && c.Priority != nil {
			return *c.Priority
		}
	}
	if group, ok := state.Groups.Get(unit.Key); ok && unit.Group && group.Priority != nil {
		return *group.Priority
	}
	priority := int32(math.MinInt32)
	for _, pod := range pods {
		priority = max(priority, pod.Priority)
	}
	return priority
}
