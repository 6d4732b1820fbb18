package placement

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/reason"
)

// claimBlocker returns a Blocker if a pod cannot be tried with the claim of an entry.
func (s *scope) claimBlocker(pod *model.Pod, key model.Key, entry *model.PodClaim) *reason.Blocker {
	owner := entry.Owner
	if claim, ok := s.state.Claims.Get(key); ok && entry.Group && s.state.IsTreeClaim(pod.GroupKey(), claim) {
		owner = claim.Controller
	}
	if blocker := s.unusableBlocker(key, owner); blocker != nil {
		return blocker
	}
	if blocker := s.evictedBlocker(key); blocker != nil {
		return blocker
	}
	return s.damagedBlocker(key)
}

// unusableBlocker returns a Blocker if the claim does not exist, is being deleted, belongs to a
// different owner than the one with this UID, unless that is "", or is being reclaimed.
func (s *scope) unusableBlocker(key model.Key, owner types.UID) *reason.Blocker {
	claim, ok := s.state.Claims.Get(key)
	var text string
	switch {
	case !ok:
		text = fmt.Sprintf("ResourceClaim %s does not exist", key)
	case claim.Deleting:
		text = fmt.Sprintf("ResourceClaim %s is being deleted", key)
	case owner != "" && claim.Controller != owner:
		text = fmt.Sprintf("ResourceClaim %s belongs to a different owner", key)
	default:
		unit, reclaimed := s.state.Nominations.ReclaimedFor(key)
		if !reclaimed {
			return nil
		}
		text = fmt.Sprintf("devices of ResourceClaim %s are being reclaimed for %s", key, unit)
	}
	return &reason.Blocker{Text: text, Topics: []model.Topic{{Kind: model.TopicClaim, Key: key}}}
}

// evictedBlocker returns a Blocker if a claim has a device from which pods are evicted: other pods
// wait until the claim is allocated again, or the taint is removed.
func (s *scope) evictedBlocker(key model.Key) *reason.Blocker {
	claim, _ := s.state.Claims.Get(key)
	device, taint, evicts := s.state.Devices.Evicts(claim)
	if !evicts {
		return nil
	}
	return &reason.Blocker{
		Text:   fmt.Sprintf("claim %s has device %s, which is tainted with %s", key, device, model.TaintText(taint)),
		Topics: []model.Topic{{Kind: model.TopicClaim, Key: key}, {Kind: model.TopicDevices}},
	}
}

// damagedBlocker returns a Blocker if a claim has a device that is tainted or not published any
// more, unless running pods use it. Pods on a node that does not exist use it when the node is
// created again.
func (s *scope) damagedBlocker(key model.Key) *reason.Blocker {
	claim, _ := s.state.Claims.Get(key)
	text := s.state.Devices.DamageReason(claim)
	if text == "" || PodUsing(s.state, s.unit, key, nil) != nil {
		return nil
	}
	return &reason.Blocker{
		Text:   fmt.Sprintf("claim %s has %s", key, text),
		Topics: []model.Topic{{Kind: model.TopicClaim, Key: key}, {Kind: model.TopicDevices}, {Kind: model.TopicNodes}},
	}
}
