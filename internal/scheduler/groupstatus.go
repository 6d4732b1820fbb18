package scheduler

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"

	core "github.com/allot-dev/allot/api/core/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/claims"
	"github.com/allot-dev/allot/internal/cluster"
	"github.com/allot-dev/allot/internal/controller/reconciler"
	"github.com/allot-dev/allot/internal/groups"
	"github.com/allot-dev/allot/internal/model"
)

// A gang of 1,000 gets few writes of its condition, not 1,000: changes of its pods are gathered
// for a moment, and that pods are missing is said only when no more have come for a while.
const (
	settle       = 100 * time.Millisecond
	settleQuorum = time.Second
)

// The condition explains at once; an event warns of what stays so. A group that is being made waits for its claims, its
// pods and its place, each for a moment.
const (
	settleWarning = time.Second
	settleMissing = 5 * time.Second // since the last of its pods has come
)

// At most so many members of gangs get the event of their group as their own: describing one has to explain it, and a
// thousand copies explain no more.
const (
	memberWarningsPerSecond = 5
	memberWarningsBurst     = 50
)

// groupStatus keeps the conditions of PodGroups (R33). What follows from the pods
// alone it reads off the caches; why a group cannot be placed, the scheduler says.
type groupStatus struct {
	podGroups cluster.Cache[*scheduling.PodGroup]
	pods      cluster.PodCache
	write     groupWriter
	tell      *podStatus
	events    reconciler.Recorder
	clock     clock.PassiveClock
	queue     reconciler.Queue[model.Key]
	name      string                  // of the scheduler
	copies    flowcontrol.RateLimiter // of warnings, for members
	pace      *pace

	mu     sync.Mutex // guards the fields below
	said   map[model.Key]verdict
	counts map[model.Key]groups.Quorum // at the last look, of gangs that lack pods
	warned map[model.Key]warning
	sets   map[types.UID]bool // whether the StatefulSets of members create their pods one by one
}

// warning is an event about a group without a place.
type warning struct {
	at   time.Time
	made bool // else it is due at that time
}

// verdict is what the scheduler last said of a group.
type verdict struct {
	uid     types.UID
	outcome groups.Outcome
	all     bool // it holds for the pods of a basic group as well, which else have reasons of their own
	// nominated are the nodes on which places are kept for members until the victims have terminated.
	nominated map[model.Key]string
}

// newGroupStatus makes a groupStatus for caches in which pods are found by their PodGroup.
func newGroupStatus(p parts, tell *podStatus) *groupStatus {
	g := &groupStatus{podGroups: p.caches.PodGroups, pods: p.caches.Pods, write: p.groups, tell: tell, events: p.events, clock: p.clock, name: p.opts.Name,
		copies: flowcontrol.NewTokenBucketRateLimiter(memberWarningsPerSecond, memberWarningsBurst),
		pace:   newPace(p.clock),
		said:   map[model.Key]verdict{}, counts: map[model.Key]groups.Quorum{}, warned: map[model.Key]warning{}, sets: map[types.UID]bool{}}
	g.pods.OnChange(func(old, now *core.Pod) {
		pod := now
		if pod == nil {
			pod = old
		}
		if name, member := claims.GroupName(pod); member {
			g.queue.AddAfter(model.Key{Namespace: pod.Namespace, Name: name}, settle)
		}
	})
	g.podGroups.OnChange(func(old, now *scheduling.PodGroup) {
		group := now
		if group == nil {
			group = old
		}
		g.queue.AddAfter(model.Key{Namespace: group.Namespace, Name: group.Name}, settle)
	})
	return g
}

// say records why a group cannot be placed.
func (g *groupStatus) say(key model.Key, uid types.UID, outcome groups.Outcome) {
	g.record(key, verdict{uid: uid, outcome: outcome})
}

// sayWaiting records why a gang waits for which places are kept on nodes.
func (g *groupStatus) sayWaiting(key model.Key, uid types.UID, outcome groups.Outcome, nominated map[model.Key]string) {
	g.record(key, verdict{uid: uid, outcome: outcome, nominated: nominated})
}

// sayToAll records why none of the group's pods can be placed, whatever the group's policy.
func (g *groupStatus) sayToAll(key model.Key, uid types.UID, outcome groups.Outcome) {
	g.record(key, verdict{uid: uid, outcome: outcome, all: true})
}

func (g *groupStatus) record(key model.Key, v verdict) {
	g.mu.Lock()
	g.said[key] = v
	g.mu.Unlock()
	g.queue.Add(key)
}

// unsay drops what was said of a group that is being placed now, or whose pods have reasons of their own.
func (g *groupStatus) unsay(key model.Key) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.said, key)
}

func (g *groupStatus) forget(key model.Key) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.said, key)
	delete(g.counts, key)
	delete(g.warned, key)
	g.pace.forget(key)
}

// moving says whether a gang that lacks pods has got or lost some since the last look.
func (g *groupStatus) moving(key model.Key, q groups.Quorum) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if q.Met() {
		delete(g.counts, key)
		return false
	}
	last, known := g.counts[key]
	g.counts[key] = q
	if known && last == q {
		return false
	}
	if w, ok := g.warned[key]; ok && !w.made {
		g.warned[key] = warning{at: g.clock.Now().Add(settleMissing)}
	}
	return true
}

// warn says whether it is time for an event that warns of the group's condition; what is news has to stay for the
// patience. So has what stands in the condition already when this process looks first, as the one before may have ended
// before its time had come. The answer has the time of the last such event, if there was one.
func (g *groupStatus) warn(key model.Key, news bool, patience time.Duration) (now bool, last warning) {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := g.clock.Now()
	w, ok := g.warned[key]
	if next := (warning{at: at.Add(patience)}); !ok || news && (w.made || next.at.Before(w.at)) {
		w = next
	}
	if wait := w.at.Sub(at); !w.made && wait > 0 {
		g.queue.AddAfter(key, wait)
	} else if !w.made {
		now, w = true, warning{at: at, made: true}
	}
	g.warned[key] = w
	return now, w
}

// calm drops the warning that a group would have had.
func (g *groupStatus) calm(key model.Key) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.warned, key)
}

func (g *groupStatus) lastSaid(key model.Key, uid types.UID) (verdict, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	v, ok := g.said[key]
	return v, ok && v.uid == uid
}

// reconcile writes the group's conditions, if they have to change, and has members told that wait in vain.
func (g *groupStatus) reconcile(ctx context.Context, key model.Key) error {
	group, ok := g.podGroups.Get(key.Namespace, key.Name)
	if !ok {
		g.forget(key)
		return nil
	}
	members := g.pods.ByIndex(groups.Index, key.String())
	count := groups.Count(group, members)
	outcome, known := groups.Evaluate(group, count)
	if g.moving(key, count) {
		g.queue.AddAfter(key, settleQuorum)
		return nil
	}
	if known && !count.Met() && !outcome.Scheduled {
		outcome.Message += g.orderedSet(ctx, members)
	}
	said, ok := g.lastSaid(key, group.UID)
	switch {
	case !known && !ok:
		return nil
	case !known:
		outcome = said.outcome
	case ok && !outcome.Scheduled && count.Met():
		outcome = outcome.Because(said.outcome)
	}
	spaced := ok && !outcome.Scheduled && (!known || count.Met())
	if standing, waits := g.spaced(group, outcome); spaced && waits {
		outcome = standing
	}
	now := metav1.NewTime(g.clock.Now())
	conditions, changed := groups.Conditions(group, outcome, now)
	conditions, disrupted := groups.Disruption(group, members, conditions, now)
	if changed || disrupted {
		written := group.DeepCopy()
		written.Status.Conditions = conditions
		if err := g.write.WriteGroup(ctx, written); err != nil {
			return err
		}
	}
	news := changed && !says(group.Status.Conditions, outcome)
	if changed && spaced {
		news = g.pace.wrote(key, group.UID, outcome.Message) && news
	}
	if outcome.Scheduled {
		g.calm(key)
		if news {
			g.events.Eventf(group, corev1.EventTypeNormal, outcome.Reason, "%s", outcome.Message)
		}
		g.tellFurther(group, members, count)
		return nil
	}
	patience := settleWarning
	if !count.Met() {
		patience = settleMissing
	}
	warn, last := g.warn(key, news, patience)
	if warn {
		g.events.Eventf(group, corev1.EventTypeWarning, outcome.Reason, "%s", outcome.Message)
	}
	if count.Gang || ok && said.all {
		event := memberEvent(group.Name, outcome.Message)
		if warn {
			g.warnMembers(members, event)
		}
		if known && !count.Met() {
			said.nominated = nil // nothing is kept for a gang that lacks pods
		}
		g.tellMembers(members, outcome, said.nominated, event, last, !spaced)
	}
	return nil
}

// spaced returns the outcome that stands in the group's condition, if a new one that differs in its message alone is to be
// written later.
func (g *groupStatus) spaced(group *scheduling.PodGroup, outcome groups.Outcome) (standing groups.Outcome, waits bool) {
	c := meta.FindStatusCondition(group.Status.Conditions, scheduling.PodGroupScheduled)
	if c == nil || c.Status == metav1.ConditionTrue || c.Reason != outcome.Reason || c.Message == outcome.Message || c.ObservedGeneration != group.Generation {
		return outcome, false
	}
	key := model.Key{Namespace: group.Namespace, Name: group.Name}
	wait := g.pace.wait(key, group.UID, outcome.Message)
	if wait > 0 {
		g.queue.AddAfter(key, wait)
	}
	return groups.Outcome{Reason: c.Reason, Message: c.Message}, wait > 0
}

// orderedSet returns why a gang that lacks pods gets no more of them, and what to do, if their StatefulSet creates each pod only
// when the one before it is ready; "" otherwise, or if the set cannot be read.
func (g *groupStatus) orderedSet(ctx context.Context, members []*core.Pod) string {
	looked := map[types.UID]bool{} // so that a set that cannot be read costs one request, not one a member
	for _, pod := range members {
		owner := metav1.GetControllerOf(pod)
		if owner == nil || owner.Kind != "StatefulSet" || pod.DeletionTimestamp != nil || looked[owner.UID] {
			continue
		}
		looked[owner.UID] = true
		if g.isOrdered(ctx, model.Key{Namespace: pod.Namespace, Name: owner.Name}, owner.UID) {
			return fmt.Sprintf("; StatefulSet %s creates each pod only when the one before it is ready: set podManagementPolicy: Parallel", owner.Name)
		}
	}
	return ""
}

// maxSets is how many StatefulSets are remembered.
const maxSets = 1000

// isOrdered reports whether the StatefulSet creates its pods one by one. The field is immutable, so it is read once.
func (g *groupStatus) isOrdered(ctx context.Context, set model.Key, uid types.UID) bool {
	g.mu.Lock()
	ordered, known := g.sets[uid]
	g.mu.Unlock()
	if known {
		return ordered
	}
	ordered, err := g.write.OrderedSet(ctx, set, uid)
	if err != nil {
		return false // without the hint; the next change reads again
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.sets) >= maxSets {
		clear(g.sets)
	}
	g.sets[uid] = ordered
	return ordered
}

// says tells whether the conditions have the outcome already, be it of an older generation.
func says(conditions []metav1.Condition, outcome groups.Outcome) bool {
	c := meta.FindStatusCondition(conditions, scheduling.PodGroupScheduled)
	return c != nil && (c.Status == metav1.ConditionTrue) == outcome.Scheduled && c.Reason == outcome.Reason && c.Message == outcome.Message
}

// tellMembers passes on to the members of a gang that wait why they do, those included that came after the condition was
// written, and with an event if they came after the last one. Of other groups the scheduler tells each pod its own reason.
func (g *groupStatus) tellMembers(members []*core.Pod, outcome groups.Outcome, nominated map[model.Key]string, event string, last warning, prompt bool) {
	for _, pod := range members {
		key := model.Key{Namespace: pod.Namespace, Name: pod.Name}
		verdict := podVerdict{uid: pod.UID, reason: outcome.Reason, message: outcome.Message, nominated: nominated[key], prompt: prompt} // pods have the same reasons
		if !g.waits(pod) || told(pod, verdict) {
			continue
		}
		if last.made && pod.CreationTimestamp.After(last.at) {
			verdict.event = event
		}
		g.tell.say(key, verdict)
	}
}

// tellFurther reports to members of a group that is placed why they wait, if the scheduler does not report to each of them:
// members of which some have finished may be too few to be tried, and scheduling gates hold all.
func (g *groupStatus) tellFurther(group *scheduling.PodGroup, members []*core.Pod, count groups.Quorum) {
	said, ok := g.lastSaid(model.Key{Namespace: group.Namespace, Name: group.Name}, group.UID)
	outcome := said.outcome
	switch {
	case !count.Met():
		outcome, ok = groups.Unschedulable(count.Message()), true
	case !count.Gang:
		ok = ok && said.all
	}
	for _, pod := range members {
		verdict := podVerdict{uid: pod.UID, reason: outcome.Reason, message: outcome.Message, event: outcome.Message}
		if ok && g.waits(pod) && !told(pod, verdict) {
			g.tell.say(model.Key{Namespace: pod.Namespace, Name: pod.Name}, verdict)
		}
	}
}

// warnMembers publishes for members what their group has said.
func (g *groupStatus) warnMembers(members []*core.Pod, event string) {
	for _, pod := range members {
		if g.waits(pod) && g.copies.TryAccept() {
			g.events.Eventf(pod, corev1.EventTypeWarning, "FailedScheduling", "%s", event)
		}
	}
}

// longestMemberEvent is about where the reasons of a group begin to list devices.
const longestMemberEvent = 300

// memberEvent says what is wrong with a pod's group. All of it stands in the conditions, and once in an event of the group.
func memberEvent(group, message string) string {
	text := "PodGroup " + group + " is not scheduled: " + message
	if len(text) <= longestMemberEvent {
		return text
	}
	short := text[:longestMemberEvent]
	return short[:strings.LastIndexByte(short, ' ')] + " …"
}

// waits says whether a pod may still get a node from this scheduler. What gates hold back has a condition of its own.
func (g *groupStatus) waits(pod *core.Pod) bool {
	return pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil && len(pod.Spec.SchedulingGates) == 0 &&
		pod.Spec.SchedulerName == g.name && !pod.Finished()
}
