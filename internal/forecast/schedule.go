package forecast

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
	"github.com/allot-dev/allot/internal/sched/holding"
	"github.com/allot-dev/allot/internal/sched/plan"
	"github.com/allot-dev/allot/internal/sched/preempt"
	"github.com/allot-dev/allot/internal/sched/queue"
)

// schedule places units, in the order of the scheduler's queue, until none is left to try. It
// reports whether anything changed.
func (s *simulation) schedule() bool {
	s.applyChanges()
	changed := false
	for {
		entry, ok := s.queue.Pop()
		if !ok {
			return changed
		}
		changed = s.try(entry) || changed
		s.applyChanges()
	}
}

// applyChanges brings the State and the queue up to date.
func (s *simulation) applyChanges() {
	topics := s.world.Apply()
	s.queue.Wake(topics)
	seen := map[model.UnitKey]bool{}
	for _, topic := range topics {
		key := model.UnitKey{Key: topic.Key}
		switch topic.Kind {
		case model.TopicMembers, model.TopicGroup:
			key.Group = true
		case model.TopicTree:
			key.Tree = true
		case model.TopicPod:
			if pod, ok := s.world.State.Pods.Get(topic.Key); ok {
				key = pod.UnitKey()
			}
		default:
			continue
		}
		if !seen[key] {
			seen[key] = true
			s.enqueue(key)
		}
	}
}

// enqueue queues the units of a key that have something to place.
func (s *simulation) enqueue(key model.UnitKey) {
	for _, key := range s.world.State.UnitsOf(key) {
		if unit, ok := s.world.State.Unit(key); ok {
			s.queue.Add(queue.EntryOf(unit))
			continue
		}
		s.queue.Remove(key)
		s.queue.Wake(s.world.State.Nominations.Delete(key))
	}
}

// try places one unit, preempts for it, or parks it. It reports whether anything changed.
func (s *simulation) try(entry queue.Entry) bool {
	unit, ok := s.world.State.Unit(entry.Key)
	if !ok {
		return false
	}
	made, reasons := s.placer.PlaceSlice(unit, entry.Slice)
	if reasons != nil && reasons.Unfinished {
		s.queue.Add(entry.Deferred())
		return false
	}
	if made == nil &&
		(s.giveBack(entry, unit, reasons) || s.move(entry, unit, reasons) || s.preempt(entry, unit, reasons)) {
		return true
	}
	s.queue.Wake(s.world.State.Nominations.Delete(unit.Key))
	entry.Slice = 0
	switch {
	case reasons == nil:
	case made != nil && s.world.State.Pods.HasLowerPriority(unit.Priority) && !unit.NeverPreempts:
		s.queue.Add(entry) // the remaining pods may preempt others
	default:
		s.queue.ParkUntil(entry, reasons.Topics(),
			func(topic model.Topic) bool { return reasons.Helps(s.world.State, topic) })
	}
	if made == nil {
		return false
	}
	s.commit(made)
	s.queue.Wake([]model.Topic{{Kind: model.TopicPods}})
	return true
}

// preempt evicts pods of lower priority for a unit that cannot be placed, or has it wait for those
// that terminate already. It reports whether that helps.
func (s *simulation) preempt(entry queue.Entry, unit *model.Unit, reasons *sched.Reasons) bool {
	if s.noPreemption {
		return false
	}
	result := s.placer.Preempt(unit, reasons, preempt.Input{Now: s.now})
	switch {
	case reasons.Unfinished:
		s.queue.Add(entry.Deferred())
		return true
	case result == nil:
		return false
	}
	s.queue.Wake(s.world.State.Nominations.Put(result.Nomination(s.world.State)))
	if len(result.Victims) == 0 {
		return s.free(entry, s.reclaimed(result)) || s.waitForVictims(entry, reasons)
	}
	reason := fmt.Sprintf("it is preempted for %s (priority %d)", unitText(unit.Key), unit.Priority)
	for i := range result.Victims {
		for _, victim := range result.Victims[i].Pods {
			if pod, ok := s.world.Pods.Get(victim.Key.Namespace, victim.Key.Name); ok {
				s.end(pod, Preempt, reason)
			}
		}
	}
	s.queue.Add(entry)
	return true
}

// reclaimed returns the claims that are reclaimed from groups and that no pod on a node uses.
func (s *simulation) reclaimed(result *preempt.Result) []holding.Claim {
	var list []holding.Claim
	for i := range result.Reclaims {
		r := &result.Reclaims[i]
		list = append(list, holding.Claim{Key: r.Claim, UID: r.UID, Holders: r.Consumers})
	}
	return holding.Usage{State: s.world.State}.NotInUse(list, nil)
}

// waitForVictims parks a unit until something is freed.
func (s *simulation) waitForVictims(entry queue.Entry, reasons *sched.Reasons) bool {
	entry.Slice = 0
	topics := append(
		reasons.Topics(),
		model.Topic{Kind: model.TopicRoom},
		model.Topic{Kind: model.TopicPods},
		model.Topic{Kind: model.TopicDevices},
	)
	s.queue.Park(entry, topics)
	return true
}

func unitText(key model.UnitKey) string {
	switch {
	case key.Group:
		return "PodGroup " + key.Key.String()
	case key.Tree:
		return "CompositePodGroup " + key.Key.String()
	}
	return "pod " + key.Key.String()
}

// commit writes a plan into the World: claims first, then pods.
func (s *simulation) commit(made *plan.Plan) {
	at := metav1.NewTime(s.now)
	for i := range made.Claims {
		p := &made.Claims[i]
		if p.Make != nil {
			s.createExtended(p)
		}
		claim, ok := s.world.Claims.Get(p.Key.Namespace, p.Key.Name)
		if !ok {
			continue
		}
		updated := *claim
		if p.Allocation != nil {
			updated.Status.Allocation = p.Allocation.Result()
			updated.Status.Allocation.AllocationTimestamp = &at
			if !slices.Contains(claim.Finalizers, resourcev1.Finalizer) {
				updated.Finalizers = append(slices.Clip(claim.Finalizers), resourcev1.Finalizer)
			}
		}
		updated.Status.ReservedFor = slices.Clip(claim.Status.ReservedFor)
		for _, consumer := range p.Reserve {
			if !slices.ContainsFunc(
				claim.Status.ReservedFor, func(in resourcev1.ResourceClaimConsumerReference) bool { return in.UID == consumer.UID },
			) {
				updated.Status.ReservedFor = append(updated.Status.ReservedFor, consumer)
			}
		}
		s.world.Claims.Put(&updated)
	}
	for i := range made.Pods {
		p := &made.Pods[i]
		if pod, ok := s.world.Pods.Get(p.Pod.Namespace, p.Pod.Name); ok {
			s.put(s.started(pod, p))
		}
	}
	if pod, ok := s.world.Pods.Get(made.Pods[0].Pod.Namespace, made.Pods[0].Pod.Name); ok {
		s.updateGroup(pod)
	}
}

// createExtended creates the claim for a pod's extended resources.
func (s *simulation) createExtended(p *plan.Claim) {
	if claim, ok := s.world.Claims.Get(p.Key.Namespace, p.Key.Name); ok {
		s.world.Claims.Delete(model.KeyOf(claim)) // it was created for another kind of node
	}
	claim := p.Make.ForExtended(p.Reserve[0])
	s.created++
	claim.UID = uidOf(s.created)
	s.world.Claims.Put(claim)
}

// started returns a pod that runs on its node and is ready.
func (s *simulation) started(pod *core.Pod, p *plan.Pod) *core.Pod {
	at := metav1.NewTime(s.past)
	started := pod.DeepCopy()
	started.Spec.NodeName, started.Status.Phase, started.Status.StartTime = p.Node, corev1.PodRunning, &at
	if len(p.Draws) > 0 {
		started.Status.NodeAllocatableResourceClaimStatuses = p.Draws
	}
	if p.Extended != nil {
		started.Status.ExtendedResourceClaimStatus = p.Extended
	}
	started.Status.Conditions = slices.DeleteFunc(started.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled || c.Type == corev1.PodReady
	})
	for _, t := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodReady} {
		started.Status.Conditions = append(started.Status.Conditions,
			corev1.PodCondition{Type: t, Status: corev1.ConditionTrue, LastTransitionTime: at})
	}
	return started
}
