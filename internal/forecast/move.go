package forecast

import (
	"slices"

	resourcev1 "k8s.io/api/resource/v1"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
	"github.com/allot-dev/allot/internal/sched/holding"
	"github.com/allot-dev/allot/internal/sched/queue"
)

// giveBack frees the devices with which a unit cannot be placed, and has it tried again. It reports
// whether there are any.
func (s *simulation) giveBack(entry queue.Entry, unit *model.Unit, reasons *sched.Reasons) bool {
	if !holding.MayGiveBack(unit, reasons) {
		return false
	}
	return s.free(entry, holding.Usage{State: s.world.State}.Unused(unit))
}

// move frees the devices with which a unit cannot be placed if it can be placed with others, and
// evicts the rest of a gang that has lost members if the whole gang fits elsewhere. It reports
// whether it did.
func (s *simulation) move(entry queue.Entry, unit *model.Unit, reasons *sched.Reasons) bool {
	if !holding.MayMove(unit, reasons) {
		return false
	}
	held := holding.Usage{State: s.world.State}.Held(s.placer, unit)
	switch held.Next(s.placer, unit, reasons) {
	case holding.Free:
		return s.free(entry, held.Idle)
	case holding.Evict:
		for _, survivor := range held.Survivors {
			if pod, ok := s.world.Pods.Get(survivor.Key.Namespace, survivor.Key.Name); ok {
				s.end(pod, Evict, unitText(unit.Key)+" has fewer pods than its minCount, and is placed elsewhere as a whole")
			}
		}
	case holding.Continue:
		entry = entry.Deferred()
	default:
		return false
	}
	s.queue.Add(entry)
	return true
}

// free deallocates claims that a unit does not use, and has it tried again. It reports whether
// there are any.
func (s *simulation) free(entry queue.Entry, held []holding.Claim) bool {
	if len(held) == 0 {
		return false
	}
	for i := range held {
		claim, ok := s.world.Claims.Get(held[i].Key.Namespace, held[i].Key.Name)
		if !ok {
			continue
		}
		left := slices.DeleteFunc(
			slices.Clone(claim.Status.ReservedFor),
			func(ref resourcev1.ResourceClaimConsumerReference) bool {
				return slices.ContainsFunc(held[i].Holders, func(h model.Consumer) bool { return h.UID == ref.UID })
			},
		)
		s.setConsumers(claim, left, len(left) == 0)
	}
	s.queue.Add(entry)
	return true
}
