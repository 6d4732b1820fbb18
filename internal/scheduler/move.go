package scheduler

import (
	"context"
	"fmt"
	"slices"

	"github.com/allot-dev/allot/internal/commit"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
)

// move frees the devices with which a unit has no place, though it has run, if it has a place with others: a group keeps its
// devices for the pods that replace the old ones (F09), but not when they are tainted, not published any more, or on nodes where no
// pod can go. Nothing is freed while a pod that uses the claim is on a node, or while the unit has no place elsewhere: until then
// the reasons say what is wrong with the devices (P2).
func (s *Scheduler) move(ctx context.Context, entry sched.Entry, unit *model.Unit, reasons *sched.Reasons) bool {
	if unit.HalfBound || reasons.Code != sched.CodeUnschedulable && reasons.Code != sched.CodeWaiting {
		return false
	}
	broken := ""
	var held []commit.Held
	for _, key := range s.allocatedOf(unit) {
		claim, _ := s.state.Claims.Get(key)
		text := s.placer.Broken(unit, claim)
		if broken == "" {
			broken = text
		}
		if user := s.placer.User(unit, key); user != nil {
			if text != "" {
				reasons.Stay(fmt.Sprintf("%s, and is used by pod %s on node %s: delete that pod to have other devices allocated", text, user.Key, user.Node), nil)
				return false
			}
			continue
		}
		if s.onlyFor(claim, unit, text != "") {
			held = append(held, commit.Held{Key: key, UID: claim.UID, Holders: claim.Consumers})
		}
	}
	if len(held) == 0 {
		return false
	}
	var keys []model.Key
	for i := range held {
		keys = append(keys, held[i].Key)
	}
	fits, elsewhere := s.placer.Elsewhere(unit, reasons, keys)
	switch {
	case fits:
		return s.free(ctx, unit.Key, held)
	case elsewhere.Unfinished:
		s.queue.Add(entry.Deferred())
		return true
	}
	reasons.Stay(broken, elsewhere)
	return false
}

// allocatedOf returns the claims of a unit that have devices.
func (s *Scheduler) allocatedOf(unit *model.Unit) []model.Key {
	var keys []model.Key
	add := func(namespace, name string) {
		key := model.Key{Namespace: namespace, Name: name}
		if s.hasDevices(key) && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	if unit.Group != nil {
		for _, name := range unit.Group.Claims {
			add(unit.Group.Key.Namespace, name)
		}
	}
	for _, pod := range unit.Pods {
		for i := range pod.Claims {
			if pod.Claims[i].Claim != "" {
				add(pod.Key.Namespace, pod.Claims[i].Claim)
			}
		}
	}
	return keys
}

// onlyFor reports whether a claim is reserved for a unit and for no other. Consumers other than pods and PodGroups stand for the pods
// that name the claim, and keep its devices unless these are broken.
func (s *Scheduler) onlyFor(claim *model.Claim, unit *model.Unit, broken bool) bool {
	return !slices.ContainsFunc(claim.Consumers, func(c model.Consumer) bool {
		switch {
		case model.IsPodConsumer(c):
			return !slices.ContainsFunc(unit.Pods, func(pod *model.Pod) bool { return pod.UID == c.UID })
		case unit.Group != nil && c.UID == unit.Group.UID:
			return false
		case c.APIGroup == "scheduling.k8s.io" && c.Resource == "podgroups":
			return true
		}
		return !broken
	})
}
