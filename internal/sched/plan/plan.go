package plan

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/allot-dev/allot/internal/model"
)

// Plan has the writes for a unit: claims first, then pods.
type Plan struct {
	Unit  model.UnitKey
	Group types.UID // of the PodGroup, if there is one
	// MinCount is the minCount of the gang for which the plan was made, or 0.
	MinCount int
	Claims   []Claim
	Relies   []Reliance // by claim
	Pods     []Pod      // by name
	// Whole reports whether every waiting pod of the unit is in Pods; with those that are bound
	// they reach minCount.
	Whole bool
	// Attempts is for metrics alone.
	Attempts Attempts
}

// Attempts are the attempts that led to a plan.
type Attempts struct {
	Since time.Time // time of the first attempt
	Times int
	Took  time.Duration // duration of the last attempt
}

// Claim has the additions to a claim. It relies on the claim's UID, and on the claim not being
// allocated meanwhile.
type Claim struct {
	Key     model.Key
	UID     types.UID
	Version uint64 // resource version that the decision was made on; 0 if unknown
	// Make is the claim to create: for a pod's extended resources, or an expected claim, which has
	// its object. It is nil for a claim that exists.
	Make *model.Claim
	// Allocation is nil for a claim that has one.
	Allocation *model.Allocation
	// Reserve is appended to status.reservedFor, where it is not there yet.
	Reserve []model.Consumer
	// Protected reports whether the claim has the finalizer already.
	Protected bool
}

// Reliance is an allocated claim that pods of the plan use by a consumer that it has already.
// Nothing of it is written, so it must be looked up: the consumer may have been removed, and the
// devices with it.
type Reliance struct {
	Key      model.Key
	UID      types.UID
	Consumer model.Consumer
}

// Pod is a pod and the node to which it is bound.
type Pod struct {
	Pod     model.Key
	UID     types.UID
	Node    string
	NodeUID types.UID
	Draws   []model.Draw // resources drawn from the node through claims; written before the bind
	// Extended names the claim from which the pod has devices instead of extended resources, or
	// nil. It must also be written before the bind.
	Extended *corev1.PodExtendedResourceClaimStatus
}

// Assume applies the plan to the State until the API shows what was written.
func (p *Plan) Assume(state *model.State) {
	for i := range p.Claims {
		claim := &p.Claims[i]
		state.Claims.Assume(claim.Key, model.Assumption{
			NewClaim: claim.Make, Allocation: claim.Allocation, Consumers: claim.Reserve,
		})
	}
	for i := range p.Pods {
		state.Pods.Assume(p.Pods[i].Pod, p.Pods[i].Node, p.Pods[i].Draws...)
	}
}

// isOf reports whether the plan is about this claim.
func (c *Claim) isOf(claim *model.Claim) bool {
	if c.Make != nil {
		return claim.Controller == c.Make.Controller
	}
	return claim.UID == c.UID
}

// Forget reverts Assume, as far as the API does not show the plan, because the plan was refused. It
// does not change objects that were recreated since. It returns what changed.
func (p *Plan) Forget(state *model.State) []model.Topic {
	var topics []model.Topic
	for i := range p.Pods {
		if pod, ok := state.Pods.Get(p.Pods[i].Pod); ok && pod.UID == p.Pods[i].UID {
			topics = append(topics, state.Pods.Forget(pod.Key)...)
		}
	}
	for i := range p.Claims {
		if claim, ok := state.Claims.Get(p.Claims[i].Key); ok && p.Claims[i].isOf(claim) {
			topics = append(topics, state.Claims.Forget(claim.Key)...)
		}
	}
	return topics
}

// Merge returns a plan with the contents of both, which are for pods of one unit. A nil plan is
// empty.
func (p *Plan) Merge(more *Plan) *Plan {
	if p == nil {
		return more
	}
	p.Pods = append(p.Pods, more.Pods...)
	p.Claims = append(p.Claims, more.Claims...)
	slices.SortFunc(p.Pods, func(a, b Pod) int { return model.CompareKeys(a.Pod, b.Pod) })
	return p
}
