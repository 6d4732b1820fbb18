package alloc

import (
	"slices"

	"github.com/allot-dev/allot/internal/model"
)

// request is one request of one claim.
type request struct {
	claim        int // index in Problem.claims
	index        int // index in the requests of the claim
	alternatives []alternative
}

// alternative is one way to serve a request; earlier alternatives are preferred. Requests without
// firstAvailable have one.
type alternative struct {
	spec        *model.Alternative
	resultName  string // name in allocation results
	class       *model.Class
	selection   int // index in Problem.selections
	eligibility int // index in Problem.eligibilities
	// 0 for allocationMode All; maxDevices + 1 for any number that exceeds the limit of a claim
	count int
}

// eligibility determines which devices an alternative can use. Slots of one eligibility can be
// swapped within a claim.
type eligibility struct {
	selection int
	// claim that must not get a device twice because it has requests with admin access; -1 if there
	// are none
	adminClaim  int
	admin       bool
	constraints []int // indices in Problem.constraints
	// attributes are the attributes compared by each of the constraints; indices in
	// Problem.attributes.
	attributes []int
}

// attributeOf returns the attribute that the constraint compares, or -1 if it does not cover the
// eligibility.
func (e *eligibility) attributeOf(constraint int) int {
	if at := slices.Index(e.constraints, constraint); at >= 0 {
		return e.attributes[at]
	}
	return -1
}

// maxCount returns the maximum number of devices for the request.
func (r *request) maxCount() int {
	maximum := 0
	for i := range r.alternatives {
		if count := r.alternatives[i].count; count > 0 {
			maximum = max(maximum, count)
		} else {
			maximum = maxDevices
		}
	}
	return maximum
}

// minCount returns the minimum number of devices for the request.
func (r *request) minCount() int {
	minimum := 0
	for i := range r.alternatives {
		if count := max(1, r.alternatives[i].count); i == 0 || count < minimum {
			minimum = count
		}
	}
	return minimum
}

// minRequested returns minCount without capping the counts of alternatives.
func (r *request) minRequested() int64 {
	minimum := int64(0)
	for i := range r.alternatives {
		if count := max(1, r.alternatives[i].spec.Count); i == 0 || count < minimum {
			minimum = count
		}
	}
	return minimum
}

// addRequest adds a request. It returns a reason if the class does not exist or is not supported.
func (p *Problem) addRequest(c, r int) *Reason {
	modelRequest := &p.claims[c].Requests[r]
	w := request{claim: c, index: r}
	for o := range modelRequest.Alternatives {
		asks := &modelRequest.Alternatives[o]
		class, ok := p.state.Classes.Get(asks.Class)
		if !ok {
			return &Reason{Kind: ClassMissing, Requests: []RequestRef{refTo(p.claims[c], modelRequest)}, Class: asks.Class}
		}
		if class.Unknown != "" {
			return &Reason{
				Kind:     Unsupported,
				Requests: []RequestRef{refTo(p.claims[c], modelRequest)},
				Class:    asks.Class,
				Field:    class.Unknown,
			}
		}
		alternative := alternative{
			spec:       asks,
			resultName: modelRequest.ResultName(*asks),
			class:      class,
			count:      int(min(asks.Count, maxDevices+1)),
		}
		alternative.selection = p.addSelection(p.allocator.matcher.selection(class, asks))
		alternative.eligibility = p.addEligibility(c, modelRequest.Name, alternative.resultName, &alternative)
		w.alternatives = append(w.alternatives, alternative)
		p.hasAll = p.hasAll || asks.All
		p.hasAdminAccess = p.hasAdminAccess || asks.AdminAccess
	}
	p.hasAlternatives = p.hasAlternatives || len(w.alternatives) > 1
	p.requests = append(p.requests, w)
	return nil
}

func (p *Problem) addEligibility(c int, request, name string, o *alternative) int {
	r := eligibility{selection: o.selection, adminClaim: -1, admin: o.spec.AdminAccess}
	if hasAdminAccess(p.claims[c]) {
		r.adminClaim = c
	}
	for i := range p.constraints {
		if p.constraints[i].claim == c && p.constraints[i].covers(request, name) {
			r.constraints = append(r.constraints, i)
			r.attributes = append(r.attributes, p.addAttribute(o.attributeFor(p.constraints[i].name, p.selections[o.selection])))
		}
	}
	for i := range p.eligibilities {
		if p.eligibilities[i].equal(&r) {
			return i
		}
	}
	p.eligibilities = append(p.eligibilities, r)
	return len(p.eligibilities) - 1
}

func (e *eligibility) equal(other *eligibility) bool {
	return e.selection == other.selection && e.adminClaim == other.adminClaim && e.admin == other.admin &&
		slices.Equal(e.constraints, other.constraints) && slices.Equal(e.attributes, other.attributes)
}

// hasAdminAccess reports whether a request of the claim has admin access.
func hasAdminAccess(claim *model.Claim) bool {
	for r := range claim.Requests {
		for o := range claim.Requests[r].Alternatives {
			if claim.Requests[r].Alternatives[o].AdminAccess {
				return true
			}
		}
	}
	return false
}
