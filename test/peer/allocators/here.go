package allocators

import (
	resourcev1 "k8s.io/api/resource/v1"

	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
)

// Here is the state that allot's scheduler keeps between pods.
type Here struct {
	State     *model.State
	Allocator *alloc.Allocator
}

// NewHere reads a world.
func NewHere(w *World) *Here {
	h := &Here{State: model.NewState(), Allocator: alloc.New()}
	for _, node := range w.Nodes {
		h.State.Nodes.Put(model.NodeFrom(node))
	}
	for _, class := range w.Classes {
		h.State.Classes.Put(model.ClassFrom(class))
	}
	for _, slice := range w.Slices {
		h.State.Devices.PutSlice(model.SliceFrom(slice))
	}
	for _, claim := range w.Holders {
		h.State.Claims.Put(claimFrom(claim))
	}
	return h
}

// claimFrom converts a claim to the server's own type, which has more fields.
func claimFrom(claim *resourcev1.ResourceClaim) *model.Claim {
	own := &resource.ResourceClaim{ObjectMeta: claim.ObjectMeta}
	own.Spec.ResourceClaimSpec = claim.Spec
	if claim.Status.Allocation != nil {
		own.Status.Allocation = &resource.AllocationResult{AllocationResult: *claim.Status.Allocation}
	}
	return model.ClaimFrom(own)
}

// Claims returns the claims to allocate.
func Claims(w *World) []*model.Claim {
	list := make([]*model.Claim, len(w.Claims))
	for i := range w.Claims {
		list[i] = claimFrom(w.Claims[i])
	}
	return list
}

// Answer is the result of an allocator for one node.
type Answer struct {
	Choice    alloc.Choice // nil if the claims cannot be allocated
	Undecided bool         // the budget was used up
	Reason    *alloc.Reason
}

// On allocates devices for the claims on one node.
func (h *Here) On(problem *alloc.Problem, node *model.NodeInfo, steps int) Answer {
	offer, reason := problem.NodeOffer(node)
	if reason != nil {
		return Answer{Reason: reason}
	}
	choice, outcome := offer.Best(&alloc.Budget{Limit: steps})
	return Answer{Choice: choice, Undecided: outcome == alloc.OutOfBudget}
}
