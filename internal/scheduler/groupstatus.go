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

// A gang of 1,000 pods gets few writes of its condition, not 1,000: changes of its pods are
// collected for a short time, and missing pods are reported only when no more have been created for
// some time.
const (
	settle       = 100 * time.Millisecond
	settleQuorum = time.Second
)

// The condition is written immediately; an event warns about a state that lasts. A group that is
// being created waits for its claims, its pods and its placement, each for a short time.
const (
	settleWarning = time.Second
	settleMissing = 5 * time.Second // after the last of its pods was created
)

// At most this many members of gangs get the event of their group as their own: the event is there
// to explain one pod, and a thousand copies explain no more.
const (
	memberWarningsPerSecond = 5
	memberWarningsBurst     = 50
)

// groupStatus writes the conditions of PodGroups (R33). Some follow from the pods in the caches;
// the scheduler reports why a group cannot be placed.
type groupStatus struct {
	podGroups cluster.Cache[*scheduling.PodGroup]
	pods      cluster.PodCache
	write     groupWriter
	podStatus *podStatus
	events    reconciler.Recorder
	clock     clock.PassiveClock
	queue     reconciler.Queue[model.Key]
	name      string                  // name of the scheduler
	copies    flowcontrol.RateLimiter // limits warnings for members
	pace      *pace

	mu       sync.Mutex // guards the fields below
	verdicts map[model.Key]verdict
	counts   map[model.Key]groups.Quorum // counts of gangs that lack pods, at the last reconciliation
	warned   map[model.Key]warning
	sets     map[types.UID]bool // whether the StatefulSets of members create their pods one by one
}

// warning is an event about a group that is not scheduled.
type warning struct {
	time      time.Time
	published bool // published; otherwise due at that time
}

// verdict is the last result that the scheduler reported for a group.
type verdict struct {
	uid     types.UID
	outcome groups.Outcome
	all     bool // also for the pods of a basic group, which otherwise have their own reasons
	// nominated has the nodes for which members are nominated until the victims have terminated.
	nominated map[model.Key]string
}

// newGroupStatus returns a groupStatus for caches with an index of pods by PodGroup.
func newGroupStatus(p parts, tell *podStatus) *groupStatus {
	g := &groupStatus{
		podGroups: p.caches.PodGroups,
		pods:      p.caches.Pods,
		write:     p.groups,
		podStatus: tell,
		events:    p.events,
		clock:     p.clock,
		name:      p.opts.Name,
		copies:    flowcontrol.NewTokenBucketRateLimiter(memberWarningsPerSecond, memberWarningsBurst),
		pace:      newPace(p.clock),
		verdicts:  map[model.Key]verdict{},
		counts:    map[model.Key]groups.Quorum{},
		warned:    map[model.Key]warning{},
		sets:      map[types.UID]bool{},
	}
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

// setVerdict records the reason why a group cannot be placed.
func (g *groupStatus) setVerdict(key model.Key, uid types.UID, outcome groups.Outcome) {
	g.record(key, verdict{uid: uid, outcome: outcome})
}

// setNominated records the reason why a gang with nominated nodes waits.
func (g *groupStatus) setNominated(
	key model.Key, uid types.UID, outcome groups.Outcome, nominated map[model.Key]string,
) {
	g.record(key, verdict{uid: uid, outcome: outcome, nominated: nominated})
}

// setVerdictForAll records the reason why none of the group's pods can be placed, for any policy, and
// the nodes for which they are nominated.
func (g *groupStatus) setVerdictForAll(
	key model.Key, uid types.UID, outcome groups.Outcome, nominated map[model.Key]string,
) {
	g.record(key, verdict{uid: uid, outcome: outcome, all: true, nominated: nominated})
}

func (g *groupStatus) record(key model.Key, v verdict) {
	g.mu.Lock()
	g.verdicts[key] = v
	g.mu.Unlock()
	g.queue.Add(key)
}

// clearVerdict removes the verdict on a group that has been placed, or whose pods have their own
// reasons.
func (g *groupStatus) clearVerdict(key model.Key) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.verdicts, key)
}

func (g *groupStatus) forget(key model.Key) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.verdicts, key)
	delete(g.counts, key)
	delete(g.warned, key)
	g.pace.forget(key)
}

// isChanging reports whether the number of pods of a gang that lacks pods has changed since the
// last reconciliation.
func (g *groupStatus) isChanging(key model.Key, q groups.Quorum) bool {
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
	if w, ok := g.warned[key]; ok && !w.published {
		g.warned[key] = warning{time: g.clock.Now().Add(settleMissing)}
	}
	return true
}

// isWarningDue reports whether a warning event about the group's condition is due: a new condition
// must last for the patience. This also applies to an existing condition that this process sees for
// the first time, because the previous process may have ended before the event was due. last has
// the time of the last event, if there was one.
func (g *groupStatus) isWarningDue(key model.Key, news bool, patience time.Duration) (now bool, last warning) {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := g.clock.Now()
	w, ok := g.warned[key]
	if next := (warning{time: at.Add(patience)}); !ok || news && (w.published || next.time.Before(w.time)) {
		w = next
	}
	if wait := w.time.Sub(at); !w.published && wait > 0 {
		g.queue.AddAfter(key, wait)
	} else if !w.published {
		now, w = true, warning{time: at, published: true}
	}
	g.warned[key] = w
	return now, w
}

// clearWarning removes the pending warning of a group.
func (g *groupStatus) clearWarning(key model.Key) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.warned, key)
}

func (g *groupStatus) lastVerdict(key model.Key, uid types.UID) (verdict, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	v, ok := g.verdicts[key]
	return v, ok && v.uid == uid
}

// reconcile writes the group's conditions, if they must change, and reports to members that wait.
func (g *groupStatus) reconcile(ctx context.Context, key model.Key) error {
	group, ok := g.podGroups.Get(key.Namespace, key.Name)
	if !ok {
		g.forget(key)
		return nil
	}
	members := g.pods.ByIndex(groups.Index, key.String())
	r := groupReport{group: group, members: members, count: groups.Count(group, members)}
	if g.isChanging(key, r.count) {
		g.queue.AddAfter(key, settleQuorum)
		return nil
	}
	if !g.judge(ctx, key, &r) {
		return nil
	}
	news, err := g.writeConditions(ctx, key, &r)
	if err != nil {
		return err
	}
	if r.outcome.Scheduled {
		g.reportScheduled(key, &r, news)
		return nil
	}
	g.reportWaiting(key, &r, news)
	return nil
}

// A groupReport is what is said about a group: by its members alone, or by the scheduler as well.
type groupReport struct {
	group   *scheduling.PodGroup
	members []*core.Pod
	count   groups.Quorum

	outcome groups.Outcome
	counted bool    // the members alone decide the outcome
	said    verdict // verdict of the scheduler
	judged  bool    // said is set
	spaced  bool    // the scheduler's messages change often, and are written less often
}

// judge sets the outcome of a report. It returns false if there is none yet.
func (g *groupStatus) judge(ctx context.Context, key model.Key, r *groupReport) bool {
	r.outcome, r.counted = groups.Evaluate(r.group, r.count)
	if r.counted && !r.count.Met() && !r.outcome.Scheduled {
		r.outcome.Message += g.orderedSet(ctx, r.members)
	}
	r.said, r.judged = g.lastVerdict(key, r.group.UID)
	switch {
	case !r.counted && !r.judged:
		return false
	case !r.counted:
		r.outcome = r.said.outcome
	case r.judged && !r.outcome.Scheduled && r.count.Met():
		r.outcome = r.outcome.Because(r.said.outcome)
	}
	r.spaced = r.judged && !r.outcome.Scheduled && (!r.counted || r.count.Met())
	if standing, waits := g.delayedOutcome(r.group, r.outcome); r.spaced && waits {
		r.outcome = standing
	}
	return true
}

// writeConditions writes the conditions that a report changes. It returns whether they say
// something new.
func (g *groupStatus) writeConditions(ctx context.Context, key model.Key, r *groupReport) (news bool, err error) {
	now := metav1.NewTime(g.clock.Now())
	conditions, changed := groups.Conditions(r.group, r.outcome, now)
	conditions, disrupted := groups.Disruption(r.group, r.members, conditions, now)
	if changed || disrupted {
		written := r.group.DeepCopy()
		written.Status.Conditions = conditions
		if err := g.write.WriteGroup(ctx, written); err != nil {
			return false, err
		}
	}
	news = changed && !hasOutcome(r.group.Status.Conditions, r.outcome)
	if changed && r.spaced {
		news = g.pace.recordWrite(key, r.group.UID, r.outcome.Message) && news
	}
	return news, nil
}

func (g *groupStatus) reportScheduled(key model.Key, r *groupReport, news bool) {
	g.clearWarning(key)
	if news {
		g.events.Eventf(r.group, corev1.EventTypeNormal, r.outcome.Reason, "%s", r.outcome.Message)
	}
	g.reportToFurther(r.group, r.members, r.count)
}

func (g *groupStatus) reportWaiting(key model.Key, r *groupReport, news bool) {
	patience := settleWarning
	if !r.count.Met() {
		patience = settleMissing
	}
	warn, last := g.isWarningDue(key, news, patience)
	if warn {
		g.events.Eventf(r.group, corev1.EventTypeWarning, r.outcome.Reason, "%s", r.outcome.Message)
	}
	if !r.count.Gang && !(r.judged && r.said.all) {
		return
	}
	event := memberEvent(r.group.Name, r.outcome.Message)
	if warn {
		g.warnMembers(r.members, event)
	}
	if r.counted && !r.count.Met() {
		r.said.nominated = nil // a gang that lacks pods has no nominations
	}
	g.reportToMembers(r.members, r.outcome, r.said.nominated, event, last, !r.spaced)
}

// delayedOutcome returns the outcome in the group's condition, if a new one that differs only in
// its message must be written later.
func (g *groupStatus) delayedOutcome(
	group *scheduling.PodGroup, outcome groups.Outcome,
) (standing groups.Outcome, waits bool) {
	c := meta.FindStatusCondition(group.Status.Conditions, scheduling.PodGroupScheduled)
	if c == nil || c.Status == metav1.ConditionTrue || c.Reason != outcome.Reason || c.Message == outcome.Message ||
		c.ObservedGeneration != group.Generation {
		return outcome, false
	}
	key := model.Key{Namespace: group.Namespace, Name: group.Name}
	wait := g.pace.wait(key, group.UID, outcome.Message)
	if wait > 0 {
		g.queue.AddAfter(key, wait)
	}
	return groups.Outcome{Reason: c.Reason, Message: c.Message}, wait > 0
}

// orderedSet returns a hint, with a remedy, if a gang lacks pods because their StatefulSet creates
// each pod only when the previous one is ready; "" otherwise, or if the StatefulSet cannot be read.
func (g *groupStatus) orderedSet(ctx context.Context, members []*core.Pod) string {
	looked := map[types.UID]bool{} // a StatefulSet that cannot be read costs one request, not one per member
	for _, pod := range members {
		owner := metav1.GetControllerOf(pod)
		if owner == nil || owner.Kind != "StatefulSet" || pod.DeletionTimestamp != nil || looked[owner.UID] {
			continue
		}
		looked[owner.UID] = true
		if g.isOrdered(ctx, model.Key{Namespace: pod.Namespace, Name: owner.Name}, owner.UID) {
			return fmt.Sprintf(
				"; StatefulSet %s creates each pod only when the previous one is ready: set podManagementPolicy: Parallel",
				owner.Name,
			)
		}
	}
	return ""
}

// maxSets is the maximum number of remembered StatefulSets.
const maxSets = 1000

// isOrdered reports whether the StatefulSet creates its pods one by one. The field is immutable,
// and is read once.
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

// hasOutcome reports whether the conditions already have the outcome, possibly for an older
// generation.
func hasOutcome(conditions []metav1.Condition, outcome groups.Outcome) bool {
	c := meta.FindStatusCondition(conditions, scheduling.PodGroupScheduled)
	return c != nil && (c.Status == metav1.ConditionTrue) == outcome.Scheduled && c.Reason == outcome.Reason &&
		c.Message == outcome.Message
}

// reportToMembers reports to the waiting members of a gang why they wait, including those created
// after the condition was written, and with an event for those created after the last event. In
// other groups the scheduler reports a separate reason for each pod.
func (g *groupStatus) reportToMembers(
	members []*core.Pod, outcome groups.Outcome, nominated map[model.Key]string, event string, last warning, prompt bool,
) {
	for _, pod := range members {
		key := model.Key{Namespace: pod.Namespace, Name: pod.Name}
		verdict := podVerdict{
			uid:       pod.UID,
			reason:    outcome.Reason,
			message:   outcome.Message,
			nominated: nominated[key],
			prompt:    prompt,
		} // pods have the same reasons
		if !g.isWaiting(pod) || isReported(pod, verdict) {
			continue
		}
		if last.published && pod.CreationTimestamp.After(last.time) {
			verdict.event = event
		}
		g.podStatus.setVerdict(key, verdict)
	}
}

// reportToFurther reports to members of a scheduled group why they wait, if the scheduler does not
// report to each of them: if some members have finished, the others may be too few to be tried, and
// scheduling gates hold all.
func (g *groupStatus) reportToFurther(group *scheduling.PodGroup, members []*core.Pod, count groups.Quorum) {
	said, ok := g.lastVerdict(model.Key{Namespace: group.Namespace, Name: group.Name}, group.UID)
	outcome := said.outcome
	switch {
	case !count.Met():
		outcome, ok = groups.Unschedulable(count.Message()), true
	case !count.Gang:
		ok = ok && said.all
	}
	for _, pod := range members {
		verdict := podVerdict{uid: pod.UID, reason: outcome.Reason, message: outcome.Message, event: outcome.Message}
		if ok && g.isWaiting(pod) && !isReported(pod, verdict) {
			g.podStatus.setVerdict(model.Key{Namespace: pod.Namespace, Name: pod.Name}, verdict)
		}
	}
}

// warnMembers publishes the event of a group for members.
func (g *groupStatus) warnMembers(members []*core.Pod, event string) {
	for _, pod := range members {
		if g.isWaiting(pod) && g.copies.TryAccept() {
			g.events.Eventf(pod, corev1.EventTypeWarning, "FailedScheduling", "%s", event)
		}
	}
}

// longestMemberEvent is roughly the length at which the reasons of a group start to list devices.
const longestMemberEvent = 300

// memberEvent returns the event for a pod of a group. The complete text is in the conditions, and
// in an event of the group.
func memberEvent(group, message string) string {
	text := "PodGroup " + group + " is not scheduled: " + message
	if len(text) <= longestMemberEvent {
		return text
	}
	short := text[:longestMemberEvent]
	return short[:strings.LastIndexByte(short, ' ')] + " …"
}

// isWaiting reports whether this scheduler may still bind the pod. Gated pods have a condition of
// their own.
func (g *groupStatus) isWaiting(pod *core.Pod) bool {
	return pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil && len(pod.Spec.SchedulingGates) == 0 &&
		pod.Spec.SchedulerName == g.name && !pod.Finished()
}
