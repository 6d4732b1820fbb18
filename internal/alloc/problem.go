package alloc

import (
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/allot-dev/allot/internal/model"
)

// Allocator finds devices for claims. It caches results about pools, never about claims.
type Allocator struct {
	matcher *matcher
}

// New returns an Allocator with an empty cache.
func New() *Allocator { return &Allocator{matcher: newMatcher()} }

// Budget is a number of steps that searches share.
type Budget struct {
	Limit int
	Spent int
}

// Step spends one step. It reports whether there was one left.
func (b *Budget) Step() bool {
	if b.Spent >= b.Limit {
		return false
	}
	b.Spent++
	return true
}

// Problem is the set of requests of claims that are allocated together.
type Problem struct {
	allocator *Allocator
	state     *model.State
	claims    []*model.Claim
	requests  []request
	ranges    []claimRange // by claim
	distinctions
	eligibilities []eligibility // distinct
	constraints   []constraint
	requestTraits
	// swappable means that equal requests of two claims can swap their devices without
	// consequences.
	swappable    bool
	likePrevious []bool               // by claim; see isLikePrevious
	isTrialClaim func(model.Key) bool // see SetTrialClaims; nil means none
	// budget limits the steps that all offers together spend to find out whether a solution exists;
	// see WithinBudget.
	budget *Budget
}

// requestTraits are properties of the requests of a Problem.
type requestTraits struct {
	hasAlternatives, hasAll, hasAdminAccess bool
	// mayExceedConfig is set if some choice of alternatives has too many configuration entries.
	mayExceedConfig bool
}

const (
	maxDevices   = resourcev1.AllocationResultsMaxSize // per claim
	problemSteps = 50_000
	nodeSteps    = 2_000 // part of problemSteps that one node may spend
)

// Prepare reads the requests of claims without an allocation. swappable means that all claims are
// used by the same pods, so that it does not matter which of two claims gets which of two devices
// suitable for both.
func (a *Allocator) Prepare(state *model.State, claims []*model.Claim, swappable bool) (*Problem, *Reason) {
	p := &Problem{allocator: a, state: state, claims: claims, swappable: swappable, budget: &Budget{Limit: problemSteps}}
	for c, claim := range claims {
		first := claimRange{requests: len(p.requests), constraints: len(p.constraints)}
		p.ranges = append(p.ranges, first)
		if claim.Unsupported != nil {
			return nil, featureReason(claim)
		}
		p.addConstraints(c)
		for r := range claim.Requests {
			if reason := p.addRequest(c, r); reason != nil {
				return nil, reason
			}
		}
		if reason := p.checkDeviceCount(c); reason != nil {
			return nil, reason
		}
		if reason := p.checkConfigCount(c); reason != nil {
			return nil, reason
		}
	}
	return p, nil
}

// WithinBudget sets the budget from which offers of this Problem take the steps to find out whether
// a solution exists. When it is spent, offers only use bounds.
func (p *Problem) WithinBudget(budget *Budget) { p.budget = budget }

// SetTrialClaims sets the claims that have devices only in the current trial. Reasons do not name
// them as holders.
func (p *Problem) SetTrialClaims(isTrialClaim func(model.Key) bool) { p.isTrialClaim = isTrialClaim }

// claimRange is the index of the first request and the first constraint of a claim.
type claimRange struct{ requests, constraints int }

// rangeOf returns the start and the end (exclusive) of the requests and constraints of a claim.
func (p *Problem) rangeOf(claim int) (from, to claimRange) {
	to = claimRange{requests: len(p.requests), constraints: len(p.constraints)}
	if claim+1 < len(p.ranges) {
		to = p.ranges[claim+1]
	}
	return p.ranges[claim], to
}

// checkDeviceCount returns a reason if a claim requests more devices than a claim can have.
func (p *Problem) checkDeviceCount(c int) *Reason {
	wanted := int64(0)
	for w := range p.requests {
		if p.requests[w].claim == c {
			wanted = model.AddAmounts(wanted, p.requests[w].minRequested())
		}
	}
	if wanted <= maxDevices {
		return nil
	}
	r := &Reason{Kind: TooMany, Wanted: int(wanted)}
	for w := range p.requests {
		if p.requests[w].claim == c {
			r.Requests = append(r.Requests, p.requestRef(w))
		}
	}
	return r
}

// isSimple reports whether each request is for a fixed number of devices without admin access,
// alternatives or constraints.
func (p *Problem) isSimple() bool {
	return !p.hasAlternatives && !p.hasAll && !p.hasAdminAccess && len(p.constraints) == 0
}

// isExact reports whether the flow bound decides if a solution exists.
func (p *Problem) isExact() bool {
	return !p.hasAlternatives && !p.mixesAdminAccess() && len(p.constraints) == 0
}

// mixesAdminAccess reports whether a claim has requests both with and without admin access.
func (p *Problem) mixesAdminAccess() bool {
	if !p.hasAdminAccess {
		return false
	}
	for i := range p.eligibilities {
		if p.eligibilities[i].adminClaim >= 0 && !p.eligibilities[i].admin {
			return true
		}
	}
	return false
}

// WithClaims returns the Problem for other claims with the same requests in the same order.
func (p *Problem) WithClaims(claims []*model.Claim) *Problem {
	other := *p
	other.claims = claims
	return &other
}

// DistinguishFor makes the Problem distinguish devices that matter to other Problems, which will
// need devices as well.
func (p *Problem) DistinguishFor(others []*Problem) {
	p.addAll(others)
}

// MaxDevices returns the maximum number of devices for all claims.
func (p *Problem) MaxDevices() int {
	n := 0
	for i := range p.requests {
		n += p.requests[i].maxCount()
	}
	return n
}

// MinDevices returns the minimum number of devices for all claims, without those for admin access.
func (p *Problem) MinDevices() int {
	n := 0
	for i := range p.requests {
		if !p.requests[i].alternatives[0].spec.AdminAccess {
			n += p.requests[i].minCount()
		}
	}
	return n
}

// requestRef identifies the request.
func (p *Problem) requestRef(w int) RequestRef {
	claim := p.claims[p.requests[w].claim]
	return refTo(claim, &claim.Requests[p.requests[w].index])
}

func refTo(claim *model.Claim, request *model.Request) RequestRef {
	asked := RequestRef{Claim: claim.Key, Request: request.Name, Extended: request.Extended}
	if asked.Extended != "" {
		asked.Class = request.Alternatives[0].Class
	}
	return asked
}
