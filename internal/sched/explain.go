package sched

import (
	"fmt"
	"slices"

	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/nodefit"
	"github.com/allot-dev/allot/internal/sched/plan"
	"github.com/allot-dev/allot/internal/sched/reason"
)

// explain counts over all nodes why the class cannot be placed on them as the trial stands.
func (j *job) explain(c *class) reason.Failures {
	t := reason.Failures{}
	for _, info := range j.state.Nodes.List() {
		if pin := c.outside(info); pin != nil {
			t.Add(info.Name, nodefit.Failure{Check: nodefit.CheckDomain, Detail: reason.DomainName(pin.key, pin.value)})
		} else if m := c.fitter.Static(info); m.Failed() {
			t.Add(info.Name, m)
		} else if mount := c.mounts.Unreachable(info); mount != nil {
			t.AddVolume(info.Name, mount)
		} else if claim, misses := j.claimMisses(c, info); misses {
			t.AddClaim(info.Name, claim)
		} else if m := j.dynamic(c, info); m.Failed() {
			t.Add(info.Name, m)
		} else if lacking := j.lacking(c, info); lacking != nil {
			t.AddDevices(info.Name, lacking)
		} else if m := j.drawMiss(c, info); m.Failed() {
			t.Add(info.Name, m)
		} else {
			t.Add(info.Name, nodefit.Failure{Check: nodefit.CheckTogether})
		}
	}
	return t
}

// lacking returns why the node has too few devices for the class: for its own claims, or for those
// that it shares and that were not allocated.
func (j *job) lacking(c *class, info *model.NodeInfo) *alloc.Reason {
	if _, reason := j.board(c, c.members[0], info); reason != nil {
		return reason
	}
	for _, b := range j.bundles {
		uses := slices.Contains(c.given, b.claims[0].Key)
		if claim, _ := j.state.Claims.Get(b.claims[0].Key); !uses || claim.Allocation != nil {
			continue
		}
		if _, reason := b.problem.NodeOffer(info); reason != nil {
			return reason
		}
	}
	return nil
}

// recordFailure explains, as the trial stands, why members are not placed, if more are placed than
// before.
func (j *job) recordFailure(placed int) {
	if placed == len(j.members) {
		j.bestReason = nil
		return
	}
	if j.bestReason != nil && j.bestReason.Placed >= placed {
		return
	}
	if j.quiet {
		j.bestReason = &Reasons{Placed: placed}
		return
	}
	r := &Reasons{Placed: placed, Constraints: j.ties()}
	done := map[model.Key]bool{}
	for i := range j.placements {
		done[j.placements[i].Pod] = true
	}
	for _, c := range j.classes {
		var left []*member
		for _, m := range c.members {
			if !done[m.pod.Key] {
				left = append(left, m)
			}
		}
		if len(left) > 0 {
			r.Pods = append(r.Pods, j.explainPods(c, left))
		}
	}
	j.bestReason = r
}

func (j *job) explainPods(c *class, left []*member) reason.PodReasons {
	p := reason.PodReasons{Pods: keysOf(left)}
	if claim := j.full(left[0]); claim != nil {
		p.Blocker = &reason.Blocker{
			Text:   fmt.Sprintf("claim %s has %d consumers, which is the limit", claim.Key, len(claim.Consumers)),
			Topics: []model.Topic{{Kind: model.TopicClaim, Key: claim.Key}},
		}
		return p
	}
	if m := c.mounts.InUse(j.state); m != nil {
		p.Blocker = waitForVolume(m.Claim, "", "PersistentVolumeClaim %s is for one pod at a time (ReadWriteOncePod)", m.Claim)
		return p
	}
	stuck := *c
	stuck.members = left
	p.Nodes = len(j.state.Nodes.List())
	p.Failures = j.explain(&stuck).List()
	for i := range p.Failures {
		if cause := p.Failures[i].Alloc; cause != nil && cause.NodeIndependent() && c.extended == nil {
			return reason.PodReasons{Pods: p.Pods, Alloc: cause}
		}
	}
	return p
}

// further returns the changes that can help a unit that was tried in more than one way: any of what
// its members depend on. For single pods, what each node failed at is more precise.
func (j *job) further() []model.Topic {
	if j.unit.Min <= 1 && len(j.bundles) == 0 && j.topology() == "" && !j.state.Devices.HasDraws() {
		return j.volumeTopics()
	}
	topics := append(j.dependencies(), model.Topic{Kind: model.TopicNodes})
	if j.reasons.NoRoom = j.lacksDevices(); !j.reasons.NoRoom {
		topics = append(topics, model.Topic{Kind: model.TopicRoom})
	}
	return topics
}

// dependencies returns the changes, other than of nodes and their free resources, that decide where
// the unit's pods can run.
func (j *job) dependencies() []model.Topic {
	topics := j.volumeTopics()
	for _, c := range j.classes {
		if c.fitter.DependsOnPods(j.state) {
			topics = append(topics, model.Topic{Kind: model.TopicPods})
		}
		if c.extended != nil {
			topics = append(topics, model.Topic{Kind: model.TopicDevices})
		}
		for _, resource := range c.fitter.Shape.Offerable() {
			topics = append(topics, model.OfferOf(resource))
		}
		for _, use := range c.members[0].uses {
			topics = append(topics, model.Topic{Kind: model.TopicDevices}, model.Topic{Kind: model.TopicClaim, Key: use.claim})
		}
	}
	return topics
}

// volumeTopics returns the changes of what limits where the unit's pods can mount volumes. A
// PersistentVolumeClaim that is recreated may be bound to another volume.
func (j *job) volumeTopics() []model.Topic {
	var topics []model.Topic
	for _, c := range j.classes {
		for i := range c.mounts {
			topics = append(topics, waitForVolume(c.mounts[i].Claim, c.mounts[i].Volume.Name, "").Topics...)
		}
	}
	return topics
}

// result returns the result after everything was tried.
func (j *job) result() (*plan.Plan, *Reasons) {
	r := j.reasons
	if j.best != nil {
		j.best.Whole = len(j.best.Pods) == len(j.unit.Pods)
		if j.bestReason == nil && len(r.Pods) == 0 {
			return j.best, nil
		}
	}
	if j.quiet {
		return j.best, r
	}
	r.Priority = lowerGroupPriority(j.unit)
	r.Further, r.Dependencies = j.further(), j.dependencies()
	for _, c := range j.classes {
		f := c.fitter
		r.Shapes = append(r.Shapes, f.WithoutCounts())
	}
	if j.bestReason != nil {
		r.Placed, r.Constraints = j.bestReason.Placed, j.bestReason.Constraints
		r.Pods = append(r.Pods, j.bestReason.Pods...)
	}
	if j.best != nil {
		r.Code = CodeLeftOver
		return j.best, r
	}
	r.Code = CodeUnschedulable
	if j.exhausted || j.undecided {
		r.Code, r.Steps, r.Unfinished = CodeUndecided, j.budget.Spent, j.steps < j.placer.steps
	}
	return nil, r
}

// lowerGroupPriority returns a hint for the author of a pod whose own priority is higher than that
// of its group, which counts, or "".
func lowerGroupPriority(unit *model.Unit) string {
	if unit.Group == nil || unit.Group.Priority == nil {
		return ""
	}
	for _, pod := range unit.Pods {
		if pod.Priority > *unit.Group.Priority {
			return fmt.Sprintf("pod %s counts with the priority %d of PodGroup %s, not with its own priority %d",
				pod.Key.Name, *unit.Group.Priority, unit.Group.Key.Name, pod.Priority)
		}
	}
	return ""
}
