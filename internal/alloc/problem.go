package alloc

import (
	"fmt"
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/resourceclaim"

	"github.com/allot-dev/allot/internal/model"
)

// Allocator finds devices for claims. It remembers what it has worked out about device sets, nothing about claims.
type Allocator struct {
	matcher *matcher
}

// New makes an Allocator that remembers nothing yet.
func New() *Allocator { return &Allocator{matcher: newMatcher()} }

// Budget is what searches may spend together, in steps.
type Budget struct {
	Limit int
	Spent int
}

// Step spends one step, and says whether there was one.
func (b *Budget) Step() bool {
	if b.Spent >= b.Limit {
		return false
	}
	b.Spent++
	return true
}

// Problem is what claims that are allocated together ask for.
type Problem struct {
	allocator *Allocator
	state     *model.State
	claims    []*model.Claim
	wants     []want
	// selections are the distinct ones of wants.
	selections []*selection
	// others are what further claims select by: devices that these can tell apart are not alike, and those that fewer
	// of them could use come first.
	others []*selection
	// swappable: what two claims ask for alike can be swapped between them without a difference to anybody.
	swappable bool
}

// want is one request of one claim.
type want struct {
	claim     int // index in Problem.claims
	request   int // index in the claim's requests
	option    *model.Option
	name      string // for results
	class     *model.Class
	selection int // index in Problem.selections
	count     int
}

// Prepare reads what the claims, none of which has an allocation, ask for. Swappable says that all of them serve the
// same pods, so that it does not matter which of two claims gets which of two devices that both could have.
func (a *Allocator) Prepare(state *model.State, claims []*model.Claim, swappable bool) (*Problem, *Reason) {
	p := &Problem{allocator: a, state: state, claims: claims, swappable: swappable}
	known := map[string]int{}
	for c, claim := range claims {
		if reason := unsupportedInClaim(claim); reason != nil {
			return nil, reason
		}
		for r := range claim.Requests {
			w, selection, reason := p.read(c, r)
			if reason != nil {
				return nil, reason
			}
			at, ok := known[selection.key]
			if !ok {
				at = len(p.selections)
				known[selection.key] = at
				p.selections = append(p.selections, selection)
			}
			w.selection = at
			p.wants = append(p.wants, w)
		}
	}
	return p, nil
}

// With is the same Problem for other claims that ask for the same, in the same order.
func (p *Problem) With(claims []*model.Claim) *Problem {
	other := *p
	other.claims = claims
	return &other
}

// TellApart makes the Problem mind what the claims of others ask for, which will need devices too.
func (p *Problem) TellApart(others []*Problem) {
	known := map[string]bool{}
	for _, own := range p.selections {
		known[own.key] = true
	}
	for _, other := range others {
		for _, selection := range other.selections {
			if !known[selection.key] {
				known[selection.key] = true
				p.others = append(p.others, selection)
			}
		}
	}
}

// Devices is how many devices all claims together ask for.
func (p *Problem) Devices() int {
	n := 0
	for i := range p.wants {
		n += p.wants[i].count
	}
	return n
}

func (p *Problem) read(c, r int) (want, *selection, *Reason) {
	claim := p.claims[c]
	request := &claim.Requests[r]
	asked := []Asked{{Claim: claim.Key, Request: request.Name}}
	if field := unsupportedInRequest(request); field != "" {
		field = fmt.Sprintf("spec.devices.requests[%d].%s", r, field)
		return want{}, nil, &Reason{Kind: Unsupported, Asked: asked, Field: field}
	}
	option := &request.Options[0]
	class, ok := p.state.Class(option.Class)
	if !ok {
		return want{}, nil, &Reason{Kind: ClassMissing, Asked: asked, Class: option.Class}
	}
	w := want{claim: c, request: r, option: option, name: request.ResultName(*option), class: class, count: int(option.Count)}
	return w, newSelection(class, option), nil
}

// asked names the request of a want.
func (p *Problem) asked(w int) Asked {
	claim := p.claims[p.wants[w].claim]
	return Asked{Claim: claim.Key, Request: claim.Requests[p.wants[w].request].Name}
}

func unsupportedInClaim(claim *model.Claim) *Reason {
	if len(claim.Constraints) == 0 {
		return nil
	}
	reason := &Reason{Kind: Unsupported, Field: "spec.devices.constraints"}
	for i := range claim.Requests {
		reason.Asked = append(reason.Asked, Asked{Claim: claim.Key, Request: claim.Requests[i].Name})
	}
	return reason
}

// unsupportedInRequest is the path of the first field that asks for something this package cannot do.
func unsupportedInRequest(request *model.Request) string {
	if len(request.Options) != 1 || request.Options[0].Name != "" {
		return "firstAvailable"
	}
	option := &request.Options[0]
	switch {
	case option.All:
		return "exactly.allocationMode: All"
	case option.AdminAccess:
		return "exactly.adminAccess"
	case option.Capacity != nil && len(option.Capacity.Requests) > 0:
		return "exactly.capacity"
	case len(option.DerivedAttributes) > 0:
		return "exactly.derivedAttributes"
	}
	return ""
}

// barredBy says why a device cannot be given to those who tolerate only this, "" if it can.
func barredBy(device *model.Device, tolerations []resourcev1.DeviceToleration) string {
	for i := range device.Taints {
		taint := &device.Taints[i]
		prevents := taint.Effect == resourcev1.DeviceTaintEffectNoSchedule || taint.Effect == resourcev1.DeviceTaintEffectNoExecute
		if prevents && !tolerated(taint, tolerations) {
			return "is tainted with " + taintText(taint)
		}
	}
	switch {
	case len(device.ConsumesCounters) > 0:
		return "has consumesCounters, which is not supported yet"
	case device.AllowMultipleAllocations:
		return "has allowMultipleAllocations, which is not supported yet"
	case len(device.BindingConditions) > 0:
		return "has bindingConditions, which are not supported yet"
	case device.NodeResources:
		return "has nodeAllocatableResources, which are not supported yet"
	}
	return ""
}

func tolerated(taint *resourcev1.DeviceTaint, tolerations []resourcev1.DeviceToleration) bool {
	return slices.ContainsFunc(tolerations, func(t resourcev1.DeviceToleration) bool {
		return resourceclaim.ToleratesTaint(t, *taint)
	})
}

func taintText(taint *resourcev1.DeviceTaint) string {
	if taint.Value == "" {
		return fmt.Sprintf("%s:%s", taint.Key, taint.Effect)
	}
	return fmt.Sprintf("%s=%s:%s", taint.Key, taint.Value, taint.Effect)
}
