package scheduler

import (
	"context"
	"slices"
	"strings"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/allot-dev/allot/internal/commit"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
)

// waiting is a plan of which the claims are in the API, and the binds are held back until the devices are attached.
type waiting struct {
	plan      *sched.Plan
	halfBound bool
	since     time.Time
	alarm     clock.Timer // at the deadline; nil if none is set
	said      string
	topics    []model.Topic
}

// waitList finds plans that wait by what they wait for.
type waitList struct {
	plans   []*waiting
	byTopic map[model.Topic][]*waiting
}

func (l *waitList) add(w *waiting) {
	l.plans = append(l.plans, w)
	for _, topic := range w.topics {
		l.byTopic[topic] = append(l.byTopic[topic], w)
	}
}

func (l *waitList) remove(w *waiting) {
	l.plans = without(l.plans, w)
	for _, topic := range w.topics {
		if l.byTopic[topic] = without(l.byTopic[topic], w); len(l.byTopic[topic]) == 0 {
			delete(l.byTopic, topic)
		}
	}
}

func without(list []*waiting, w *waiting) []*waiting {
	return slices.DeleteFunc(list, func(other *waiting) bool { return other == w })
}

// of are the plans that a topic is about, each once.
func (l *waitList) of(topics []model.Topic) []*waiting {
	var list []*waiting
	seen := map[*waiting]bool{}
	for _, topic := range topics {
		for _, w := range l.byTopic[topic] {
			if !seen[w] {
				seen[w] = true
				list = append(list, w)
			}
		}
	}
	return list
}

// lookAtWaits looks at the plans that what happened may concern; if a node changed, at all.
func (s *Scheduler) lookAtWaits(ctx context.Context, topics []model.Topic) {
	if len(s.waits.plans) == 0 {
		return
	}
	list := s.waits.of(topics)
	if version := s.state.Nodes.Version(); version != s.nodesSeen {
		s.nodesSeen = version
		list = slices.Clone(s.waits.plans)
	}
	for _, w := range list {
		s.look(ctx, w)
	}
}

// await holds a plan's binds back.
func (s *Scheduler) await(ctx context.Context, plan *sched.Plan, halfBound bool) {
	w := &waiting{plan: plan, halfBound: halfBound, since: s.clock.Now()}
	for i := range plan.Pods {
		w.topics = append(w.topics, model.Topic{Kind: model.TopicPod, Key: plan.Pods[i].Pod})
	}
	for _, key := range s.claimsOf(plan) {
		w.topics = append(w.topics, model.Topic{Kind: model.TopicClaim, Key: key})
	}
	if plan.Unit.Group {
		w.topics = append(w.topics, model.Topic{Kind: model.TopicGroup, Key: plan.Unit.Key})
	}
	s.waits.add(w)
	s.look(ctx, w)
}

// look sees whether a plan that waits can go on, or has to be given up.
func (s *Scheduler) look(ctx context.Context, w *waiting) {
	if !slices.Contains(s.waits.plans, w) {
		return
	}
	if why := s.outdated(w); why != "" {
		s.end(w)
		s.withdraw(ctx, w.plan, attachment{failed: []string{why}})
		return
	}
	a := s.attachmentOf(w.plan, w.since)
	switch {
	case len(a.failed) > 0:
		s.end(w)
		s.withdraw(ctx, w.plan, a)
	case !a.ready():
		s.reportWaiting(w, "waiting for "+strings.Join(a.missing, ", "))
		if w.alarm == nil {
			w.alarm = s.clock.AfterFunc(a.deadline.Sub(s.clock.Now()), func() {
				s.feed.Enqueue(func() []model.Topic {
					w.alarm = nil
					s.look(ctx, w)
					return nil
				})
			})
		}
	default:
		s.end(w)
		s.beside(func() {
			result := commit.Result{Failed: s.commit.Binds(ctx, w.plan)}
			s.feed.Enqueue(func() []model.Topic { return s.committed(w.plan, result, w.halfBound) })
		})
	}
}

// reportWaiting reports what a plan waits for before its binds, once.
func (s *Scheduler) reportWaiting(w *waiting, message string) {
	if w.said != message {
		w.said = message
		s.status.reportPlan(w.plan, message)
	}
}

func (s *Scheduler) end(w *waiting) {
	s.waits.remove(w)
	if w.alarm != nil {
		w.alarm.Stop()
	}
}

// outdated says why the plan does not hold any more, "" if it does. Pods that are gone are left out of it, as long as a
// gang has enough without them.
func (s *Scheduler) outdated(w *waiting) string {
	left := w.plan.Pods[:0:0]
	for _, p := range w.plan.Pods {
		if pod, ok := s.state.Pods.Get(p.Pod); ok && pod.UID == p.UID && pod.Live() && s.state.Pods.Assumed(p.Pod) {
			left = append(left, p)
		}
	}
	if len(left) < len(w.plan.Pods) {
		plan := *w.plan
		plan.Pods = left
		w.plan = &plan
	}
	if len(left) == 0 {
		return "the pod is gone"
	}
	for _, p := range left {
		if _, ok := s.state.Nodes.Get(p.Node); !ok {
			return "node " + p.Node + " is gone"
		}
	}
	for _, key := range s.claimsOf(w.plan) {
		switch claim, ok := s.state.Claims.Get(key); {
		case !ok || claim.Allocation == nil:
			return "claim " + key.String() + " has lost its devices"
		case claim.Deleting:
			return "claim " + key.String() + " is being deleted"
		}
	}
	if !w.plan.Unit.Group {
		return ""
	}
	group, ok := s.state.Groups.Get(w.plan.Unit.Key)
	switch {
	case !ok || group.UID != w.plan.Group:
		return "the PodGroup is gone"
	case group.Gang && s.state.Groups.Census(group.Key).Bound < group.MinCount: // which counts those that wait here
		return "the gang has lost members"
	}
	return ""
}

// withdraw takes back a plan of which no bind was tried: what it has allocated, unless somebody else uses that, and
// claims of which the devices never become ready. The unit is tried again, without these devices for a while.
func (s *Scheduler) withdraw(ctx context.Context, plan *sched.Plan, a attachment) {
	why := strings.Join(a.failed, ", ")
	klog.V(2).InfoS("Taking a plan back before its binds", "unit", plan.Unit, "reason", why)
	s.status.reportWithdrawn(plan, a, why)
	s.avoid(a.broken)
	s.hold(plan.Unit)
	unused := s.usage.unusedOf(plan, a.hopeless)
	s.beside(func() {
		seen, err := s.giveBackAll(ctx, unused)
		s.feed.Enqueue(func() []model.Topic {
			if err != nil {
				klog.V(2).InfoS("Not all devices could be given back", "unit", plan.Unit, "reason", err)
			}
			topics := append(s.take(seen), plan.Forget(s.state)...)
			s.retryLater(plan.Unit, nil)
			return topics
		})
	})
}

// avoidFor is how long a device is not given out after it did not become ready.
const avoidFor = time.Minute

// avoid puts devices into quarantine for avoidFor.
func (s *Scheduler) avoid(devices []model.DeviceID) {
	for _, id := range devices {
		until := s.clock.Now().Add(avoidFor)
		s.avoided[id] = until
		s.state.Devices.Quarantine(id)
		s.after(avoidFor, func() []model.Topic {
			if !s.avoided[id].Equal(until) {
				return nil // it failed again meanwhile
			}
			delete(s.avoided, id)
			return s.state.Devices.EndQuarantine(id)
		})
	}
}
