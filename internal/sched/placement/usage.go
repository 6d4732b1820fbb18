package placement

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/nodefit"
)

// PodUsing returns a pod that is on a node and uses a claim, or nil. Pods of the unit's group use
// its claims before their status names them. A pod that is being deleted on an unreachable node
// does not use devices of that node alone: no other claim can get them, and the node stops the pod
// when it is reachable again. Survivors do not count.
func PodUsing(state *model.State, unit *model.Unit, key model.Key, survivors []*model.Pod) *model.Pod {
	claim, _ := state.Claims.Get(key)
	home, tied := nodefit.TiedNode(claim.Allocation.NodeSelector)
	counts := func(pod *model.Pod) bool {
		return pod.Counts() && !slices.Contains(survivors, pod) &&
			!(pod.Deleting && tied && pod.Node == home && Unreachable(state, home))
	}
	if unit.Group != nil && slices.Contains(unit.Group.Claims, key.Name) {
		for _, pod := range state.Groups.Members(unit.Group.Key) {
			if counts(pod) {
				return pod
			}
		}
	}
	for _, info := range state.Nodes.List() {
		for _, pod := range info.Pods {
			if pod.Key.Namespace == key.Namespace && counts(pod) && usesClaim(pod, key.Name) {
				return pod
			}
		}
	}
	return nil
}

// Unreachable reports whether pods are evicted from a node because its heartbeats are missing.
func Unreachable(state *model.State, name string) bool {
	info, ok := state.Nodes.Get(name)
	return ok && slices.ContainsFunc(info.Node.Taints, func(t corev1.Taint) bool {
		return t.Key == corev1.TaintNodeUnreachable && t.Effect == corev1.TaintEffectNoExecute
	})
}

// usesClaim reports whether the pod names a claim of its namespace.
func usesClaim(pod *model.Pod, claim string) bool {
	for name := range pod.ClaimNames {
		if name == claim {
			return true
		}
	}
	return false
}

// UsesClaims reports whether the pod has claims, may get one, or depends on one that it had.
func UsesClaims(state *model.State, pod *model.Pod) bool {
	return len(pod.Claims) > 0 || pod.Mapped || state.Classes.OffersAny(pod.Shape)
}
