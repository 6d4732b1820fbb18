package scheduler

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/klog/v2"

	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/commit"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
)

// giveBack frees the devices of a unit that cannot be placed and runs nothing, and says whether there are any. The unit
// is held meanwhile, and tried again after it with all devices to choose from.
//
// Devices are left to such a unit when the process ended between its claims and its binds, when a half-bound gang was
// rolled back, or when the node of its devices went away. A group that has run keeps them while it is merely empty or
// incomplete, for the pods that replace the old ones (F09).
func (s *Scheduler) giveBack(ctx context.Context, unit *model.Unit, reasons *sched.Reasons) bool {
	ran := unit.Group == nil || !unit.Group.Gang || unit.Group.Scheduled
	if ran && reasons.Code != sched.CodeUnschedulable {
		return false
	}
	unused := s.unused(unit)
	if len(unused) == 0 {
		return false
	}
	klog.V(2).InfoS("Giving back devices of what cannot be placed with them", "unit", unit.Key, "claims", len(unused))
	s.hold(unit.Key)
	s.beside(func() {
		var seen []*resource.ResourceClaim
		var errs []error
		for i := range unused {
			claim, err := s.commit.GiveBack(ctx, &unused[i])
			switch {
			case err != nil:
				errs = append(errs, err)
			case claim == nil || claim.UID != unused[i].UID || claim.Status.Allocation != nil:
				errs = append(errs, fmt.Errorf("claim %s has changed meanwhile", unused[i].Key))
			default:
				seen = append(seen, claim)
			}
		}
		s.feed.Tell(func() []model.Topic { return s.gaveBack(unit.Key, seen, errors.Join(errs...)) })
	})
	return true
}

// gaveBack lets the State know what was written, ahead of the caches: else the unit would be placed on what it gave back.
func (s *Scheduler) gaveBack(key model.UnitKey, seen []*resource.ResourceClaim, err error) []model.Topic {
	var topics []model.Topic
	for _, claim := range seen {
		topics = append(topics, s.state.PutClaim(model.ClaimFrom(claim))...)
	}
	if err != nil {
		klog.V(2).InfoS("Not all devices could be given back", "unit", key, "reason", err)
		s.retryLater(key, nil)
		return topics
	}
	s.release(key)
	return topics
}

// unused are the unit's claims that have devices for it alone, if none of its pods is on a node.
func (s *Scheduler) unused(unit *model.Unit) []commit.Held {
	pods := unit.Pods
	var holders []model.Consumer
	if unit.Group != nil {
		pods = s.state.Members(unit.Key.Key)
		holders = append(holders, model.GroupConsumer(unit.Group.Key.Name, unit.Group.UID))
	}
	for _, pod := range pods {
		if pod.Counts() {
			return nil
		}
		holders = append(holders, model.PodConsumer(pod.Key.Name, pod.UID))
	}
	var unused []commit.Held
	done := map[model.Key]bool{}
	for _, pod := range unit.Pods {
		for _, use := range pod.Claims {
			key := model.Key{Namespace: pod.Key.Namespace, Name: use.Claim}
			if claim, ok := s.state.Claim(key); ok && !done[key] && heldOnlyBy(claim, holders) {
				unused = append(unused, commit.Held{Key: key, UID: claim.UID, Holders: holders})
			}
			done[key] = true
		}
	}
	return unused
}

func heldOnlyBy(claim *model.Claim, holders []model.Consumer) bool {
	if claim.Allocation == nil || claim.Deleting || len(claim.Consumers) == 0 {
		return false
	}
	held := model.Claim{Consumers: holders}
	for _, consumer := range claim.Consumers {
		if !held.HasConsumer(consumer) {
			return false
		}
	}
	return true
}
