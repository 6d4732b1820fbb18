package placement

import (
	"slices"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/plan"
)

// trial has the placements of an attempt so far. The State shows them, within a transaction.
type trial struct {
	state  *model.State
	tx     *model.Tx
	unit   *model.Unit
	pods   []plan.Pod
	claims []claimChange
}

// claimChange is a change of one claim.
type claimChange struct {
	key     model.Key
	before  *model.Claim
	created *model.Claim    // the claim, if it is new
	relies  *model.Consumer // set if nothing is changed, because the claim has this consumer
}

// mark is a point in a trial to which the trial can be reverted.
type mark struct {
	tx, pods, claims int
}

func (t *trial) mark() mark {
	return mark{tx: t.tx.Mark(), pods: len(t.pods), claims: len(t.claims)}
}

func (t *trial) undo(m mark) {
	t.tx.UndoTo(m.tx)
	t.pods = t.pods[:m.pods]
	t.claims = t.claims[:m.claims]
}

// assumeClaim changes a claim.
func (t *trial) assumeClaim(key model.Key, a model.Assumption) {
	before, _ := t.state.Claims.Get(key)
	if a.Allocation != nil && a.NewClaim == nil && before.Generated != nil {
		a.NewClaim = before // it is created with its devices
	}
	t.claims = append(t.claims, claimChange{key: key, before: before, created: a.NewClaim})
	if !t.state.Claims.Assume(key, a) {
		panic("placement: claim " + key.String() + " cannot take the allocation that was found for it")
	}
}

// isAllocatedHere reports whether a claim has devices in the trial alone.
func (t *trial) isAllocatedHere(claim model.Key) bool {
	return slices.ContainsFunc(t.claims, func(c claimChange) bool {
		return c.key == claim && (c.before == nil || c.before.Allocation == nil)
	})
}

// lastNode returns the node of the member that was placed last.
func (t *trial) lastNode() *model.NodeInfo {
	info, _ := t.state.Nodes.Get(t.pods[len(t.pods)-1].Node)
	return info
}
