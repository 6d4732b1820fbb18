package preempt

import (
	"slices"

	"github.com/allot-dev/allot/internal/model"
)

// IsVictim reports whether a pod was chosen as a victim and is not being deleted yet.
func IsVictim(pod *model.Pod) bool {
	return pod.Victim && pod.Counts() && !pod.Deleting && !pod.Foreign
}

// EvictedWith returns all pods that must be deleted when a victim is.
func EvictedWith(state *model.State, pod *model.Pod) []*model.Pod {
	if pod.Group == "" {
		return []*model.Pod{pod}
	}
	if root, ok := wholeTree(state, pod.GroupKey()); ok {
		pods, _ := runningInTree(state, root)
		return pods
	}
	group, _ := state.Groups.Get(pod.GroupKey())
	pods, _ := runningPods(state, pod.GroupKey())
	return chosenPods(group, pods, IsVictim)
}

// TreeOf returns the tree of groups that is evicted as a whole with the pod.
func TreeOf(state *model.State, pod *model.Pod) (*model.Tree, bool) {
	if pod.Group == "" {
		return nil, false
	}
	root, ok := wholeTree(state, pod.GroupKey())
	if !ok {
		return nil, false
	}
	return state.Tree(root), true
}

// runningPods returns the pods of a group that are on nodes and not being deleted, and whether none
// is being bound.
func runningPods(state *model.State, group model.Key) (pods []*model.Pod, settled bool) {
	settled = true
	for _, pod := range state.Groups.Members(group) {
		switch {
		case !pod.Counts() || pod.Deleting:
		case state.Pods.Assumed(pod.Key):
			settled = false
		default:
			pods = append(pods, pod)
		}
	}
	return pods, settled
}

// chosenPods returns those of a group's running pods that were chosen as victims, or that are
// evicted with them: the process may have stopped when only some of them were deleted.
func chosenPods(group *model.Group, pods []*model.Pod, isChosen func(*model.Pod) bool) []*model.Pod {
	chosen := slices.DeleteFunc(slices.Clone(pods), func(pod *model.Pod) bool { return !isChosen(pod) })
	switch {
	case len(chosen) == 0 || group == nil:
		return chosen
	case group.Whole || group.Gang && len(pods)-len(chosen) < group.MinCount:
		return pods
	}
	return chosen
}
