package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/commit"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
)

// giveBack frees the devices of what a unit cannot be placed with, and says whether there are any. The unit is held
// meanwhile, and tried again after it with all devices to choose from: those on other nodes, too (R17).
//
// Devices are left to a unit that does not run when the process ended between its claims and its binds, when a half-bound
// gang was rolled back, or when their node went away or filled up. A group that has run keeps them while it is merely
// empty or incomplete, for the pods that replace the old ones (F09), and what is reserved for it is not touched then.
func (s *Scheduler) giveBack(ctx context.Context, unit *model.Unit, reasons *sched.Reasons) bool {
	ran := unit.Group == nil || !unit.Group.Gang || unit.Group.Scheduled
	if unit.HalfBound || ran && reasons.Code != sched.CodeUnschedulable {
		return false
	}
	return s.free(ctx, unit.Key, s.unused(unit))
}

// free gives back the devices of claims that a unit makes no use of, if there are any.
func (s *Scheduler) free(ctx context.Context, key model.UnitKey, unused []commit.Held) bool {
	if len(unused) == 0 {
		return false
	}
	klog.V(2).InfoS("Giving back devices of what cannot be placed with them", "unit", key, "claims", len(unused))
	s.hold(key)
	group, _ := s.state.Groups.Get(key.Key)
	s.beside(func() {
		var seen []*resource.ResourceClaim
		err := s.hasNotRun(ctx, key, group)
		if err == nil {
			seen, err = s.giveBackAll(ctx, unused)
		}
		s.feed.Enqueue(func() []model.Topic {
			topics := s.take(seen)
			if err != nil {
				klog.V(2).InfoS("Not all devices could be given back", "unit", key, "reason", err)
				s.retryLater(key, nil)
				return topics
			}
			s.release(key)
			return topics
		})
	})
	return true
}

// hasNotRun is an error if the unit is a group that the State takes for one that has never run, though it has: caches may be
// behind, and what a group has run with is its own until it goes.
func (s *Scheduler) hasNotRun(ctx context.Context, key model.UnitKey, seen *model.Group) error {
	if !key.Group || seen == nil || seen.Scheduled {
		return nil
	}
	group, err := s.status.groups.write.ReadGroup(ctx, key.Key)
	switch {
	case err != nil:
		return err
	case group != nil && group.UID == seen.UID && model.GroupFrom(group).Scheduled:
		return fmt.Errorf("PodGroup %s has run", key.Key)
	}
	return nil
}

// giveBackAll gives the claims as they are after it, as far as they are free.
func (s *Scheduler) giveBackAll(ctx context.Context, unused []commit.Held) ([]*resource.ResourceClaim, error) {
	var seen []*resource.ResourceClaim
	var errs []error
	for i := range unused {
		claim, err := s.commit.GiveBack(ctx, &unused[i])
		switch {
		case err != nil:
			errs = append(errs, err)
		case claim == nil || claim.UID != unused[i].UID || claim.Status.Allocation != nil:
			errs = append(errs, fmt.Errorf("claim %s is used by somebody else, too", unused[i].Key))
		default:
			seen = append(seen, claim)
		}
	}
	return seen, errors.Join(errs...)
}

// take lets the State know what was written, ahead of the caches: else units would be placed on what was given back. The State
// leaves older versions out that the caches show later.
func (s *Scheduler) take(seen []*resource.ResourceClaim) []model.Topic {
	var topics []model.Topic
	for _, claim := range seen {
		if _, ok := s.feed.Claim(model.Key{Namespace: claim.Namespace, Name: claim.Name}); !ok {
			continue // it was seen to be deleted
		}
		topics = append(topics, s.state.Claims.Put(s.feed.Seen(claim))...)
	}
	return topics
}

// unused are claims that have devices for pods that wait, and for their group as long as it has never run.
func (s *Scheduler) unused(unit *model.Unit) []commit.Held {
	var claims []model.Key
	seen := map[model.Key]bool{}
	add := func(key model.Key) {
		if !seen[key] && s.hasDevices(key) {
			claims = append(claims, key)
		}
		seen[key] = true
	}
	for _, pod := range unit.Pods {
		for name := range pod.ClaimNames {
			add(model.Key{Namespace: pod.Key.Namespace, Name: name})
		}
	}
	if unit.Group != nil && !unit.Group.Scheduled {
		for _, name := range unit.Group.Claims {
			add(model.Key{Namespace: unit.Group.Key.Namespace, Name: name})
		}
	}
	if len(claims) == 0 {
		return nil
	}
	return s.notInUse(s.heldBy(claims, holders(unit)), nil)
}

// hasDevices says whether the API shows devices that a claim can lose.
func (s *Scheduler) hasDevices(key model.Key) bool {
	observed, ok := s.state.Claims.Observed(key)
	return ok && observed.Allocation != nil && !observed.Deleting
}

// holders are for whom the devices of a unit that waits may be reserved, to be called unused.
func holders(unit *model.Unit) []model.Consumer {
	holders := make([]model.Consumer, 0, len(unit.Pods)+1)
	for _, pod := range unit.Pods {
		holders = append(holders, model.PodConsumer(pod.Key.Name, pod.UID))
	}
	if unit.Group != nil && !unit.Group.Scheduled {
		holders = append(holders, model.GroupConsumer(unit.Group.Key.Name, unit.Group.UID))
	}
	return holders
}

// unusedOf are the claims that a plan has allocated, and claims that never become ready for its pods.
func (s *Scheduler) unusedOf(plan *sched.Plan, hopeless []model.Key) []commit.Held {
	var holders []model.Consumer
	for i := range plan.Pods {
		holders = append(holders, model.PodConsumer(plan.Pods[i].Pod.Name, plan.Pods[i].UID))
	}
	if group, ok := s.state.Groups.Get(plan.Unit.Key); ok && plan.Unit.Group && !group.Scheduled {
		holders = append(holders, model.GroupConsumer(group.Key.Name, group.UID))
	}
	var unused []commit.Held
	for i := range plan.Claims {
		claim := &plan.Claims[i]
		if claim.Allocation == nil {
			continue
		}
		uid := claim.UID
		if made, ok := s.state.Claims.Observed(claim.Key); ok && claim.Make != nil {
			uid = made.UID
		}
		unused = append(unused, commit.Held{Key: claim.Key, UID: uid, Holders: append(slices.Clip(holders), claim.Reserve...)})
	}
	for _, key := range hopeless {
		claim, ok := s.state.Claims.Get(key)
		if ok && !slices.ContainsFunc(unused, func(held commit.Held) bool { return held.Key == key }) {
			unused = append(unused, commit.Held{Key: key, UID: claim.UID, Holders: holders})
		}
	}
	return s.notInUse(unused, plan)
}

// heldBy are those of the claims that have devices for nobody, or for these holders alone.
func (s *Scheduler) heldBy(claims []model.Key, holders []model.Consumer) []commit.Held {
	these := map[types.UID]bool{}
	for _, holder := range holders {
		these[holder.UID] = true
	}
	other := func(c model.Consumer) bool { return !these[c.UID] }
	var held []commit.Held
	for _, key := range claims {
		if claim, _ := s.state.Claims.Get(key); !slices.ContainsFunc(claim.Consumers, other) {
			held = append(held, commit.Held{Key: key, UID: claim.UID, Holders: holders})
		}
	}
	return held
}

// notInUse leaves out claims with which a pod is on a node, reserved for it or not. Pods of the plan are not there yet.
func (s *Scheduler) notInUse(list []commit.Held, plan *sched.Plan) []commit.Held {
	if len(list) == 0 {
		return nil
	}
	planned := map[model.Key]bool{}
	if plan != nil {
		for i := range plan.Pods {
			planned[plan.Pods[i].Pod] = true
		}
	}
	used := map[model.Key]bool{}
	for _, info := range s.state.Nodes.List() {
		for _, pod := range info.Pods {
			for name := range pod.ClaimNames {
				if !planned[pod.Key] {
					used[model.Key{Namespace: pod.Key.Namespace, Name: name}] = true
				}
			}
		}
	}
	return slices.DeleteFunc(list, func(held commit.Held) bool { return used[held.Key] })
}

// idle is a group that has never run and has no pods to place, as a unit.
func (s *Scheduler) idle(key model.UnitKey) (*model.Unit, bool) {
	group, ok := s.state.Groups.Get(key.Key)
	if !key.Group || !ok || group.Scheduled || s.state.Groups.Census(key.Key).Bound > 0 {
		return nil, false
	}
	if slices.ContainsFunc(s.state.Groups.Members(key.Key), func(pod *model.Pod) bool { return pod.Foreign && !pod.Finished }) {
		return nil, false // its scheduler may be about to bind them
	}
	return &model.Unit{Key: key, Group: group}, true
}

// holdsIdly says whether a group that is idle has devices: it was rolled back, or its pods went before their binds.
func (s *Scheduler) holdsIdly(key model.UnitKey) bool {
	unit, ok := s.idle(key)
	return ok && len(unit.Group.Claims) > 0 && len(s.unused(unit)) > 0
}
