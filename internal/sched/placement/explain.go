package placement

import (
	"fmt"
	"slices"
	"strings"

	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/nodefit"
	"github.com/allot-dev/allot/internal/sched/reason"
)

// explainer finds out why members cannot be placed, as the trial stands.
type explainer struct {
	*trial
	input *input
}

// explain returns why the members are not placed that the trial does not place.
func (e *explainer) explain() *reason.Reasons {
	r := &reason.Reasons{Placed: len(e.pods), Constraints: e.nodeConstraints()}
	placed := map[model.Key]bool{}
	for i := range e.pods {
		placed[e.pods[i].Pod] = true
	}
	for _, c := range e.input.classes {
		var left []*podCandidate
		for _, m := range c.members {
			if !placed[m.pod.Key] {
				left = append(left, m)
			}
		}
		if len(left) > 0 {
			r.Pods = append(r.Pods, e.explainPods(c, left))
		}
	}
	return r
}

// explainPods returns why some members of a class are not placed.
func (e *explainer) explainPods(c *podClass, left []*podCandidate) reason.PodReasons {
	p := reason.PodReasons{Pods: keysOf(left)}
	if claim := e.fullClaim(left[0]); claim != nil {
		p.Blocker = &reason.Blocker{
			Text:   fmt.Sprintf("claim %s has %d consumers, which is the limit", claim.Key, len(claim.Consumers)),
			Topics: []model.Topic{{Kind: model.TopicClaim, Key: claim.Key}},
		}
		return p
	}
	if m := c.mounts.InUse(e.state); m != nil {
		p.Blocker = volumeBlocker(m.Claim, "",
			"PersistentVolumeClaim %s is for one pod at a time (ReadWriteOncePod)", m.Claim)
		return p
	}
	unplaced := *c
	unplaced.members = left
	p.Nodes = len(e.state.Nodes.List())
	p.Failures = e.nodeFailures(&unplaced).List()
	for i := range p.Failures {
		if cause := p.Failures[i].Alloc; cause != nil && cause.NodeIndependent() && c.extended == nil {
			return reason.PodReasons{Pods: p.Pods, Alloc: cause}
		}
	}
	return p
}

// nodeFailures returns, for all nodes, the first check that fails for the class. It counts each
// node once.
func (e *explainer) nodeFailures(c *podClass) reason.Failures {
	failures := reason.Failures{}
	for _, info := range e.state.Nodes.List() {
		if pin := c.violatedPin(info); pin != nil {
			failures.Add(info.Name, nodefit.Failure{Check: nodefit.CheckDomain, Detail: reason.DomainName(pin.key, pin.value)})
		} else if e.input.domain != "" && c.isExcluded(info) {
			failures.Add(info.Name, nodefit.Failure{Check: nodefit.CheckDomain, Detail: e.input.domain})
		} else if f := c.fitter.Static(info); f.Failed() {
			failures.Add(info.Name, f)
		} else if mount := c.mounts.Unreachable(info); mount != nil {
			failures.AddVolume(info.Name, mount)
		} else if claim, misses := c.unusableClaim(info); misses {
			failures.AddClaim(info.Name, claim)
		} else if f := c.checkDynamic(info); f.Failed() {
			failures.Add(info.Name, f)
		} else if lacking := e.missingDevices(c, info); lacking != nil {
			failures.AddDevices(info.Name, lacking)
		} else if f := e.drawFailure(c, info); f.Failed() {
			failures.Add(info.Name, f)
		} else {
			failures.Add(info.Name, nodefit.Failure{Check: nodefit.CheckTogether})
		}
	}
	return failures
}

// missingDevices returns why the node has too few devices for the class: for the own claims of its
// first member, or for shared claims that are not allocated.
func (e *explainer) missingDevices(c *podClass, info *model.NodeInfo) *alloc.Reason {
	if _, reason := c.offer(c.members[0], info); reason != nil {
		return reason
	}
	for _, s := range e.input.shared {
		first := s.claims[0].Key
		if claim, _ := e.state.Claims.Get(first); claim.Allocation != nil || !slices.Contains(c.claims, first) {
			continue
		}
		if _, reason := s.problem.NodeOffer(info); reason != nil {
			return reason
		}
	}
	return nil
}

// nodeConstraints returns the nodes to which the current allocations of shared claims restrict
// members.
func (e *explainer) nodeConstraints() []reason.NodeConstraint {
	var list []reason.NodeConstraint
	for _, s := range e.input.shared {
		for _, claim := range s.claims {
			now, _ := e.state.Claims.Get(claim.Key)
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
