package alloc

import (
	resourcev1 "k8s.io/api/resource/v1"

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
	parts     []claimPart // by claim
	// selections are the distinct ones of wants, and roles too.
	selections []*selection
	roles      []role
	rules      []rule
	attributes []attribute // that rules compare, those of others behind them
	// others are what further claims select by: devices that these can tell apart are not alike, and those that fewer
	// of them could use come first.
	others []*selection
	// swappable: what two claims ask for alike can be swapped between them without a difference to anybody.
	swappable bool
	same      []bool // by claim; see alike
	shaped    string // see shape; "" until somebody asks

	hasOptions, hasAll, hasAdmin bool
	// hasManyConfigs: not each choice of alternatives has few enough configuration entries.
	hasManyConfigs bool
	ours           func(model.Key) bool // see Trial; nil: none
	// trial is what all boards together may spend to find out whether there is any solution; see Within.
	trial *Budget
}

const (
	maxDevices = resourcev1.AllocationResultsMaxSize // of one claim
	trialSteps = 50_000
	boardSteps = 2_000 // of these, for one node
)

// Prepare reads what the claims, none of which has an allocation, ask for. Swappable says that all of them serve the
// same pods, so that it does not matter which of two claims gets which of two devices that both could have.
func (a *Allocator) Prepare(state *model.State, claims []*model.Claim, swappable bool) (*Problem, *Reason) {
	p := &Problem{allocator: a, state: state, claims: claims, swappable: swappable, trial: &Budget{Limit: trialSteps}}
	for c, claim := range claims {
		first := claimPart{wants: len(p.wants), rules: len(p.rules)}
		p.parts = append(p.parts, first)
		if claim.Lacks != nil {
			return nil, lacking(claim)
		}
		p.addRules(c)
		for r := range claim.Requests {
			if reason := p.addWant(c, r); reason != nil {
				return nil, reason
			}
		}
		if reason := p.tooMany(c); reason != nil {
			return nil, reason
		}
		if reason := p.tooMuchConfig(c); reason != nil {
			return nil, reason
		}
	}
	return p, nil
}

// Within has the boards of the Problem, which spend steps to find out whether there is any solution, spend those of the
// budget. Once it is spent, boards are only counted.
func (p *Problem) Within(budget *Budget) { p.trial = budget }

// Trial tells the Problem which claims have devices in the trial alone that it is asked in: they hold none yet, and
// reasons do not name them as holders.
func (p *Problem) Trial(ours func(model.Key) bool) { p.ours = ours }

// claimPart is where the wants and the rules of a claim begin; they end where the next claim's begin.
type claimPart struct{ wants, rules int }

// part returns the wants and the rules of a claim, each by their first one and the one behind the last.
func (p *Problem) part(claim int) (from, to claimPart) {
	to = claimPart{wants: len(p.wants), rules: len(p.rules)}
	if claim+1 < len(p.parts) {
		to = p.parts[claim+1]
	}
	return p.parts[claim], to
}

// tooMany says if a claim asks for more devices than one can have.
func (p *Problem) tooMany(c int) *Reason {
	wanted := int64(0)
	for w := range p.wants {
		if p.wants[w].claim == c {
			wanted = model.AddAmounts(wanted, p.wants[w].leastAsked())
		}
	}
	if wanted <= maxDevices {
		return nil
	}
	r := &Reason{Kind: TooMany, Wanted: int(wanted)}
	for w := range p.wants {
		if p.wants[w].claim == c {
			r.Asked = append(r.Asked, p.asked(w))
		}
	}
	return r
}

// plain says whether each request wants some number of devices of its own, and nothing else matters.
func (p *Problem) plain() bool {
	return !p.hasOptions && !p.hasAll && !p.hasAdmin && len(p.rules) == 0
}

// exact says whether counting finds out if there is a solution.
func (p *Problem) exact() bool {
	return !p.hasOptions && !p.mixed() && len(p.rules) == 0
}

// mixed says whether a claim wants devices both with and without admin access.
func (p *Problem) mixed() bool {
	if !p.hasAdmin {
		return false
	}
	for i := range p.roles {
		if p.roles[i].claim >= 0 && !p.roles[i].admin {
			return true
		}
	}
	return false
}

// With is the same Problem for other claims that ask for the same, in the same order.
func (p *Problem) With(claims []*model.Claim) *Problem {
	other := *p
	other.claims = claims
	return &other
}

// TellApart makes the Problem mind what the claims of others ask for, which will need devices too.
func (p *Problem) TellApart(others []*Problem) {
	p.shaped = ""
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
		for i := range other.roles {
			for _, attribute := range other.roles[i].attributes {
				p.addAttribute(other.attributes[attribute])
			}
		}
	}
}

// Devices is how many devices all claims together ask for, at most.
func (p *Problem) Devices() int {
	n := 0
	for i := range p.wants {
		n += p.wants[i].most()
	}
	return n
}

// Least is how many devices all claims together take from others, at least.
func (p *Problem) Least() int {
	n := 0
	for i := range p.wants {
		if !p.wants[i].options[0].asked.AdminAccess {
			n += p.wants[i].least()
		}
	}
	return n
}

// asked names the request of a want.
func (p *Problem) asked(w int) Asked {
	claim := p.claims[p.wants[w].claim]
	return askedBy(claim, &claim.Requests[p.wants[w].request])
}

func askedBy(claim *model.Claim, request *model.Request) Asked {
	asked := Asked{Claim: claim.Key, Request: request.Name, Extended: request.Extended}
	if asked.Extended != "" {
		asked.Class = request.Options[0].Class
	}
	return asked
}
