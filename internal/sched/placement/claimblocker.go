package placement

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/nodefit"
	"github.com/allot-dev/allot/internal/sched/reason"
)

// claimBlocker returns a Blocker if a pod cannot be tried with the claim of an entry.
func (g *gatherer) claimBlocker(key model.Key, entry *model.PodClaim) *reason.Blocker {
	if blocker := g.unusableBlocker(key, entry); blocker != nil {
		return blocker
	}
	if blocker := g.evictedBlocker(key); blocker != nil {
		return blocker
	}
	return g.damagedBlocker(key)
}

// unusableBlocker returns a Blocker if the claim does not exist, is being deleted, belongs to a
// different owner, or is being reclaimed.
func (g *gatherer) unusableBlocker(key model.Key, entry *model.PodClaim) *reason.Blocker {
	claim, ok := g.state.Claims.Get(key)
	text := ""
	switch {
	case !ok:
		text = fmt.Sprintf("ResourceClaim %s does not exist", key)
	case claim.Deleting:
		text = fmt.Sprintf("ResourceClaim %s is being deleted", key)
	case entry.Owner != "" && claim.Controller != entry.Owner:
		text = fmt.Sprintf("ResourceClaim %s belongs to a different owner", key)
	default:
		unit, reclaimed := g.state.Nominations.ReclaimedFor(key)
		if !reclaimed {
			return nil
		}
		text = fmt.Sprintf("devices of ResourceClaim %s are being reclaimed for %s", key, unit)
	}
	return &reason.Blocker{Text: text, Topics: []model.Topic{{Kind: model.TopicClaim, Key: key}}}
}

// evictedBlocker returns a Blocker if a claim has a device from which pods are evicted: other pods
// wait until the claim is allocated again, or the taint is removed.
func (g *gatherer) evictedBlocker(key model.Key) *reason.Blocker {
	claim, _ := g.state.Claims.Get(key)
	device, taint, evicts := g.state.Devices.Evicts(claim)
	if !evicts {
		return nil
	}
	return &reason.Blocker{
		Text:   fmt.Sprintf("claim %s has device %s, which is tainted with %s", key, device, model.TaintText(taint)),
		Topics: []model.Topic{{Kind: model.TopicClaim, Key: key}, {Kind: model.TopicDevices}},
	}
}

// damagedBlocker returns a Blocker if a claim has a device that is tainted or not published any
// more, unless running pods use it.
func (g *gatherer) damagedBlocker(key model.Key) *reason.Blocker {
	claim, _ := g.state.Claims.Get(key)
	text := g.state.Devices.DamageReason(claim)
	if text == "" || PodUsing(g.state, g.unit, key) != nil {
		return nil
	}
	return &reason.Blocker{
		Text:   fmt.Sprintf("claim %s has %s", key, text),
		Topics: []model.Topic{{Kind: model.TopicClaim, Key: key}, {Kind: model.TopicDevices}},
	}
}

// PodUsing returns a pod that is on a node and uses a claim, or nil. Pods of the unit's group use its
// claims before their status names them. A pod that is being deleted on an unreachable node does not
// use devices of that node alone: no other claim can get them, and the node stops the pod when it is
// reachable again.
func PodUsing(state *model.State, unit *model.Unit, key model.Key) *model.Pod {
	claim, _ := state.Claims.Get(key)
	home, tied := nodefit.TiedNode(claim.Allocation.NodeSelector)
	counts := func(pod *model.Pod) bool {
		return pod.Counts() && !(pod.Deleting && tied && pod.Node == home && isUnreachable(state, home))
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

// isUnreachable reports whether pods are evicted from a node because its heartbeats are missing.
func isUnreachable(state *model.State, name string) bool {
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
