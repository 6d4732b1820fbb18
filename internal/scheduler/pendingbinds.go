package scheduler

import (
	"slices"
	"time"

	"k8s.io/utils/clock"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/plan"
)

// pendingBind is a plan whose claims are in the API and whose binds are not written until the
// devices are attached.
type pendingBind struct {
	plan      *plan.Plan
	halfBound bool
	since     time.Time
	alarm     clock.Timer // at the deadline; nil if none is set
	reported  string
	topics    []model.Topic
}

// pendingBinds holds the plans whose binds wait for binding conditions, and finds those that a
// change concerns. It reads the State and changes nothing.
type pendingBinds struct {
	state   *model.State
	clock   clock.PassiveClock
	timeout time.Duration // time limit of binding conditions
	plans   []*pendingBind
	byTopic map[model.Topic][]*pendingBind
	nodes   uint64 // the version of the nodes at the last call of affected
}

func newPendingBinds(state *model.State, clk clock.PassiveClock, timeout time.Duration) *pendingBinds {
	return &pendingBinds{state: state, clock: clk, timeout: timeout, byTopic: map[model.Topic][]*pendingBind{}}
}

// add adds a plan whose binds have to wait from now on.
func (l *pendingBinds) add(plan *plan.Plan, halfBound bool) *pendingBind {
	p := &pendingBind{plan: plan, halfBound: halfBound, since: l.clock.Now()}
	for i := range plan.Pods {
		p.topics = append(p.topics, model.Topic{Kind: model.TopicPod, Key: plan.Pods[i].Pod})
	}
	for _, key := range l.claimsOf(plan) {
		p.topics = append(p.topics, model.Topic{Kind: model.TopicClaim, Key: key})
	}
	if plan.Unit.Group {
		p.topics = append(p.topics, model.Topic{Kind: model.TopicGroup, Key: plan.Unit.Key})
	}
	l.plans = append(l.plans, p)
	for _, topic := range p.topics {
		l.byTopic[topic] = append(l.byTopic[topic], p)
	}
	return p
}

// contains reports whether the binds of a plan still wait.
func (l *pendingBinds) contains(p *pendingBind) bool { return slices.Contains(l.plans, p) }

func (l *pendingBinds) remove(p *pendingBind) {
	if p.alarm != nil {
		p.alarm.Stop()
	}
	l.plans = withoutBind(l.plans, p)
	for _, topic := range p.topics {
		if l.byTopic[topic] = withoutBind(l.byTopic[topic], p); len(l.byTopic[topic]) == 0 {
			delete(l.byTopic, topic)
		}
	}
}

func withoutBind(list []*pendingBind, p *pendingBind) []*pendingBind {
	return slices.DeleteFunc(list, func(other *pendingBind) bool { return other == p })
}

// affected returns the plans that the topics concern, each once, or all plans if a node has changed
// since the last call.
func (l *pendingBinds) affected(topics []model.Topic) []*pendingBind {
	if len(l.plans) == 0 {
		return nil
	}
	if version := l.state.Nodes.Version(); version != l.nodes {
		l.nodes = version
		return slices.Clone(l.plans)
	}
	var list []*pendingBind
	seen := map[*pendingBind]bool{}
	for _, topic := range topics {
		for _, p := range l.byTopic[topic] {
			if !seen[p] {
				seen[p] = true
				list = append(list, p)
			}
		}
	}
	return list
}

// outdated returns why a plan cannot be bound any more, or "". Deleted pods are removed from the
// plan as long as enough members of a gang are left.
func (l *pendingBinds) outdated(p *pendingBind) string {
	l.removeDeletedPods(p)
	if len(p.plan.Pods) == 0 {
		return "the pod was deleted"
	}
	for _, placed := range p.plan.Pods {
		if _, ok := l.state.Nodes.Get(placed.Node); !ok {
			return "node " + placed.Node + " was deleted"
		}
	}
	if lost := l.lostClaim(p.plan); lost != "" {
		return lost
	}
	switch {
	case p.plan.Unit.Tree && !l.state.Tree(p.plan.Unit.Key).IsPlaced(): // assumed binds count
		return "the tree of groups has too few members"
	case !p.plan.Unit.Group:
		return ""
	}
	group, ok := l.state.Groups.Get(p.plan.Unit.Key)
	switch {
	case !ok || group.UID != p.plan.Group:
		return "the PodGroup was deleted"
	case group.Gang && l.state.Groups.Census(group.Key).Bound < group.MinCount: // assumed binds count
		return "the gang has too few members"
	}
	return ""
}

// removeDeletedPods removes pods from a plan that are not those for which it was made.
func (l *pendingBinds) removeDeletedPods(p *pendingBind) {
	left := p.plan.Pods[:0:0]
	for _, placed := range p.plan.Pods {
		pod, ok := l.state.Pods.Get(placed.Pod)
		if ok && pod.UID == placed.UID && pod.Live() && l.state.Pods.Assumed(placed.Pod) {
			left = append(left, placed)
		}
	}
	if len(left) < len(p.plan.Pods) {
		plan := *p.plan
		plan.Pods = left
		p.plan = &plan
	}
}

// lostClaim returns why the pods of a plan cannot use one of its claims any more, or "".
func (l *pendingBinds) lostClaim(plan *plan.Plan) string {
	for _, key := range l.claimsOf(plan) {
		switch claim, ok := l.state.Claims.Get(key); {
		case !ok || claim.Allocation == nil:
			return "claim " + key.String() + " has lost its devices"
		case claim.Deleting:
			return "claim " + key.String() + " is being deleted"
		}
	}
	return ""
}

// attachmentOf returns how far the devices of all claims of the plan's pods are attached. For a
// claim without an allocation time, the time at which the plan began to wait is used.
func (l *pendingBinds) attachmentOf(plan *plan.Plan, began time.Time) attachment {
	var a attachment
	for _, key := range l.claimsOf(plan) {
		if claim, ok := l.state.Claims.Get(key); ok && claim.Allocation != nil && claim.Allocation.Awaits() {
			a.add(claim, began, l.clock.Now(), l.timeout)
		}
	}
	return a
}

// claimsOf returns the claims that the plan's pods use, each once.
func (l *pendingBinds) claimsOf(plan *plan.Plan) []model.Key {
	var keys []model.Key
	seen := map[model.Key]bool{}
	for i := range plan.Pods {
		pod, ok := l.state.Pods.Get(plan.Pods[i].Pod)
		if !ok {
			continue
		}
		for name := range pod.ClaimNames {
			if key := (model.Key{Namespace: pod.Key.Namespace, Name: name}); !seen[key] {
				seen[key] = true
				keys = append(keys, key)
			}
		}
	}
	return keys
}
