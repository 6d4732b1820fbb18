package placement

import (
	"slices"
	"strings"

	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/nodefit"
	"github.com/allot-dev/allot/internal/sched/reason"
)

// sharedClaims are unallocated claims that the same classes use. They are allocated together, for
// one node; the devices determine from which other nodes they can be used.
type sharedClaims struct {
	claims  []*model.Claim
	classes []*podClass
	problem *alloc.Problem
}

// findSharedClaims returns the claims without an allocation that members share.
func (g *given) findSharedClaims() []*sharedClaims {
	users := map[model.Key][]*podClass{}
	var order []model.Key
	for _, c := range g.classes {
		for _, key := range c.claims {
			if claim, _ := g.state.Claims.Get(key); claim.Allocation != nil {
				continue
			}
			if users[key] == nil {
				order = append(order, key)
			}
			users[key] = append(users[key], c)
		}
	}
	var list []*sharedClaims
	for _, key := range order {
		claim, _ := g.state.Claims.Get(key)
		at := slices.IndexFunc(list, func(s *sharedClaims) bool { return slices.Equal(s.classes, users[key]) })
		if at < 0 {
			at = len(list)
			list = append(list, &sharedClaims{classes: users[key]})
		}
		list[at].claims = append(list[at].claims, claim)
	}
	return list
}

// nodeConstraints returns the nodes to which the current allocations of shared claims restrict
// members.
func (g *given) nodeConstraints() []reason.NodeConstraint {
	var list []reason.NodeConstraint
	for _, s := range g.shared {
		for _, claim := range s.claims {
			now, _ := g.state.Claims.Get(claim.Key)
			if now.Allocation == nil || now.Allocation.NodeSelector == nil {
				continue
			}
			constraint := reason.NodeConstraint{Claim: claim.Key}
			if node, ok := nodefit.TiedNode(now.Allocation.NodeSelector); ok {
				constraint.Where = "node " + node
			} else {
				constraint.Where = "nodes with " + selectorText(now)
			}
			list = append(list, constraint)
		}
	}
	return list
}

// selectorText returns a node selector with one term as text.
func selectorText(claim *model.Claim) string {
	var parts []string
	for _, term := range claim.Allocation.NodeSelector.NodeSelectorTerms {
		for _, r := range term.MatchExpressions {
			parts = append(parts, strings.TrimSpace(r.Key+" "+string(r.Operator)+" "+strings.Join(r.Values, ",")))
		}
	}
	return strings.Join(parts, " and ")
}
