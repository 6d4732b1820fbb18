package sched

import (
	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/plan"
)

// Provide returns a plan that allocates devices of a pod's node to claims of the pod, which runs
// there without them. The plan binds no pod. It is nil if the node does not have the requested
// devices.
func (p *Placer) Provide(pod *model.Pod, claims []*model.Claim) *plan.Plan {
	info, ok := p.state.Nodes.Get(pod.Node)
	if !ok {
		return nil
	}
	problem, reason := p.alloc.Prepare(p.state, claims, false)
	if reason != nil {
		return nil
	}
	offer, reason := problem.NodeOffer(info)
	if reason != nil {
		return nil
	}
	choice, outcome := offer.Best(&alloc.Budget{Limit: p.steps})
	if outcome != alloc.Accepted {
		return nil
	}
	made := &plan.Plan{Unit: pod.UnitKey()}
	for i, claim := range claims {
		// The pod itself is the consumer: it is known to need the claim.
		c := plan.Claim{
			Key: claim.Key, UID: claim.UID, Version: claim.Version, Allocation: choice[i], Protected: claim.Protected,
			Reserve: []model.Consumer{model.PodConsumer(pod.Key.Name, pod.UID)},
		}
		made.Claims = append(made.Claims, c)
	}
	return made
}
