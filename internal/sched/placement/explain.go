package placement

import (
	"fmt"
	"slices"

	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/nodefit"
	"github.com/allot-dev/allot/internal/sched/reason"
)

// explain returns why the members are not placed that the trial does not place.
func explain(g *given, t *trial) *reason.Reasons {
	r := &reason.Reasons{Placed: len(t.pods), Constraints: g.nodeConstraints()}
	placed := map[model.Key]bool{}
	for i := range t.pods {
		placed[t.pods[i].Pod] = true
	}
	for _, c := range g.classes {
		var left []*podCandidate
		for _, m := range c.members {
			if !placed[m.pod.Key] {
				left = append(left, m)
			}
		}
		if len(left) > 0 {
			r.Pods = append(r.Pods, t.explainPods(c, left))
		}
	}
	return r
}

// explainPods returns why some members of a class are not placed.
func (t *trial) explainPods(c *podClass, left []*podCandidate) reason.PodReasons {
	p := reason.PodReasons{Pods: keysOf(left)}
	if claim := t.fullClaim(left[0]); claim != nil {
		p.Blocker = &reason.Blocker{
			Text:   fmt.Sprintf("claim %s has %d consumers, which is the limit", claim.Key, len(claim.Consumers)),
			Topics: []model.Topic{{Kind: model.TopicClaim, Key: claim.Key}},
		}
		return p
	}
	if m := c.mounts.InUse(t.state); m != nil {
		p.Blocker = volumeBlocker(m.Claim, "",
			"PersistentVolumeClaim %s is for one pod at a time (ReadWriteOncePod)", m.Claim)
		return p
	}
	unplaced := *c
	unplaced.members = left
	p.Nodes = len(t.state.Nodes.List())
	p.Failures = t.nodeFailures(&unplaced).List()
	for i := range p.Failures {
		if cause := p.Failures[i].Alloc; cause != nil && cause.NodeIndependent() && c.extended == nil {
			return reason.PodReasons{Pods: p.Pods, Alloc: cause}
		}
	}
	return p
}

// nodeFailures returns, for all nodes, the first check that fails for the class. It counts each node
// once.
func (t *trial) nodeFailures(c *podClass) reason.Failures {
	failures := reason.Failures{}
	for _, info := range t.state.Nodes.List() {
		if pin := c.violatedPin(info); pin != nil {
			failures.Add(info.Name, nodefit.Failure{Check: nodefit.CheckDomain, Detail: reason.DomainName(pin.key, pin.value)})
		} else if f := c.fitter.Static(info); f.Failed() {
			failures.Add(info.Name, f)
		} else if mount := c.mounts.Unreachable(info); mount != nil {
			failures.AddVolume(info.Name, mount)
		} else if claim, misses := c.unusableClaim(info); misses {
			failures.AddClaim(info.Name, claim)
		} else if f := c.checkDynamic(info); f.Failed() {
			failures.Add(info.Name, f)
		} else if lacking := c.missingDevices(info); lacking != nil {
			failures.AddDevices(info.Name, lacking)
		} else if f := t.drawFailure(c, info); f.Failed() {
			failures.Add(info.Name, f)
		} else {
			failures.Add(info.Name, nodefit.Failure{Check: nodefit.CheckTogether})
		}
	}
	return failures
}

// missingDevices returns why the node has too few devices for the class: for the own claims of its
// first member, or for shared claims that are not allocated.
func (c *podClass) missingDevices(info *model.NodeInfo) *alloc.Reason {
	if _, reason := c.offer(c.members[0], info); reason != nil {
		return reason
	}
	for _, s := range c.given.shared {
		first := s.claims[0].Key
		if claim, _ := c.given.state.Claims.Get(first); claim.Allocation != nil || !slices.Contains(c.claims, first) {
			continue
		}
		if _, reason := s.problem.NodeOffer(info); reason != nil {
			return reason
		}
	}
	return nil
}
