package scheduler

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/allot-dev/allot/internal/cluster"
	"github.com/allot-dev/allot/internal/controller/reconciler"
	"github.com/allot-dev/allot/internal/groups"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
	"github.com/allot-dev/allot/internal/sched/plan"
	"github.com/allot-dev/allot/internal/sched/preempt"
	"github.com/allot-dev/allot/internal/sched/reason"
)

// These limit the events about single pods that were placed.
const (
	successesPerSecond = 20
	successesBurst     = 50
)

// reporter reports the results of units: the reasons why their pods wait, as conditions that
// groupStatus and podStatus write, and what was done, as events. Its methods read the State and are
// called by the loop alone.
type reporter struct {
	state     *model.State
	feed      *cluster.Feed
	groups    *groupStatus
	pods      *podStatus
	trees     *treeStatus
	events    reconciler.Recorder
	successes flowcontrol.RateLimiter
}

func newReporter(p parts, state *model.State, feed *cluster.Feed) *reporter {
	pods := newPodStatus(p)
	return &reporter{
		state: state, feed: feed, groups: newGroupStatus(p, pods), pods: pods, trees: newTreeStatus(p), events: p.events,
		successes: flowcontrol.NewTokenBucketRateLimiter(successesPerSecond, successesBurst),
	}
}

// reportReasons reports why the pods of a unit wait: in the condition of a gang that is not placed,
// which is copied to its pods, otherwise in the conditions of the pods, each of which may be placed
// without the others.
func (r *reporter) reportReasons(unit *model.Unit, reasons *sched.Reasons) {
	message := reasons.Short() + r.quarantineNote(reasons)
	_, gang := r.waitingGang(unit.Key)
	switch {
	case unit.Tree != nil:
		r.reportTree(unit, reasons, message)
	case reasons.Code == sched.CodeBelowQuorum:
		// groupStatus counts the members itself, once their number is stable, but includes pods of
		// other schedulers.
		r.reportDivided(unit.Group)
	case reasons.Code == sched.CodeGated:
		r.reportGated(unit.Group)
	case gang && reasons.Code == sched.CodeUndecided:
		r.groups.setVerdict(unit.Key.Key, unit.Group.UID, groups.SchedulerError(message))
	case gang && reasons.Code != sched.CodeLeftOver:
		r.groups.setNominated(unit.Key.Key, unit.Group.UID, groups.Unschedulable(message), r.nominatedNodes(unit))
	default:
		switch {
		case unit.Group == nil:
		case unit.Group.Gang:
			r.groups.clearVerdict(unit.Key.Key)
		case reasons.Code != sched.CodeLeftOver:
			r.groups.setVerdict(unit.Key.Key, unit.Group.UID, groups.Unschedulable(message))
		}
		r.reportPods(unit, reasons)
	}
}

// reportTree reports why a tree is not placed: in the conditions of all of its groups, and of the
// pods of groups without a placement.
func (r *reporter) reportTree(unit *model.Unit, reasons *sched.Reasons, message string) {
	outcome := groups.Unschedulable(message)
	if reasons.Code == sched.CodeUndecided {
		outcome = groups.SchedulerError(message)
	}
	nominated := r.nominatedNodes(unit)
	for leaf := range unit.Tree.Leaves {
		if !leaf.IsPlaced() {
			r.groups.setVerdictForAll(leaf.Group.Key, leaf.Group.UID, outcome, nominated)
		}
	}
	r.trees.setVerdict(unit.Key.Key, outcome)
	r.trees.report(r.state, unit.Tree)
}

// clearVerdicts removes the verdicts on a unit that has been placed.
func (r *reporter) clearVerdicts(key model.UnitKey) {
	if !key.Tree {
		r.groups.clearVerdict(key.Key)
		return
	}
	r.trees.clearVerdict(key.Key)
	for leaf := range r.state.Tree(key.Key).Leaves {
		r.groups.clearVerdict(leaf.Group.Key)
	}
}

// waitingGang returns the gang of a unit if fewer than minCount of its pods are placed. Only then
// the reason why a pod waits concerns all its pods. As in its conditions, finished pods count as
// placed, and assumed binds do not.
func (r *reporter) waitingGang(key model.UnitKey) (*model.Group, bool) {
	group, ok := r.state.Groups.Get(key.Key)
	if !ok || !key.Group || !group.Gang {
		return nil, false
	}
	placed := 0
	for _, pod := range r.state.Groups.Members(key.Key) {
		if pod.Node != "" && !pod.Deleting && !r.state.Pods.Assumed(pod.Key) {
			placed++
		}
	}
	return group, placed < group.MinCount
}

// quarantineNote returns a note on the devices in quarantine, which are free and not allocated.
func (r *reporter) quarantineNote(reasons *sched.Reasons) string {
	var devices []string
	note := func(device model.DeviceID, by model.Holder) {
		if by.Kind == model.ByQuarantine && !slices.Contains(devices, device.String()) {
			devices = append(devices, device.String())
		}
	}
	for i := range reasons.Pods {
		p := &reasons.Pods[i]
		if p.Alloc != nil {
			for _, held := range p.Alloc.Holders {
				note(held.Device, held.By)
			}
		}
		for j := range p.Failures {
			if p.Failures[j].Alloc == nil {
				continue
			}
			for _, held := range p.Failures[j].Alloc.Holders {
				note(held.Device, held.By)
			}
		}
	}
	if len(devices) == 0 {
		return ""
	}
	return fmt.Sprintf(" (excluded for %v since binding conditions failed: %s)", avoidFor, strings.Join(devices, ", "))
}

// reportGated reports for a group and all its waiting pods that scheduling gates hold them.
func (r *reporter) reportGated(group *model.Group) {
	r.groups.setVerdictForAll(group.Key, group.UID,
		groups.Unschedulable(reason.GatedBy(r.state.Groups.Members(group.Key))), nil)
}

// reportDivided reports which members of a gang below its minCount belong to another scheduler
// (F27).
func (r *reporter) reportDivided(group *model.Group) {
	census := r.state.Groups.Census(group.Key)
	if census.Foreign == 0 {
		return
	}
	other, n := "", 0
	for _, pod := range r.state.Groups.Members(group.Key) {
		if !pod.Foreign || !pod.Live() || pod.Node != "" {
			continue
		}
		if n++; n == 1 {
			other = fmt.Sprintf("pod %s has schedulerName %s", pod.Key.Name, pod.SchedulerName)
		}
	}
	if n == 0 {
		return
	}
	if n > 1 {
		other += fmt.Sprintf(" (and %d more pods are not placed here)", n-1)
	}
	r.groups.setVerdict(group.Key, group.UID, groups.Unschedulable(fmt.Sprintf(
		"%d of %d pods have schedulerName %s, %s: a gang is placed by one scheduler",
		census.Ready, group.MinCount, r.groups.name, other)))
}

// reportPods reports its own reason for each pod of the unit that was not placed.
func (r *reporter) reportPods(unit *model.Unit, reasons *sched.Reasons) {
	messages := map[model.Key]string{}
	for i := range reasons.Pods {
		for _, key := range reasons.Pods[i].Pods {
			messages[key] = reasons.With(reasons.Pods[i].Short() + r.quarantineNote(reasons))
		}
	}
	for _, pod := range unit.Pods {
		message, ok := messages[pod.Key]
		if !ok && reasons.Code != sched.CodeLeftOver { // the pod fits, and waits for the others
			message, ok = reasons.Short()+r.quarantineNote(reasons), true
		}
		if ok {
			r.pods.setVerdict(pod.Key, podVerdict{
				uid: pod.UID, reason: corev1.PodReasonUnschedulable, message: message, event: message,
				nominated: r.nominatedNode(unit.Key, pod.Key),
			})
		}
	}
}

// quietFailures is the number of consecutive failures of a unit's plans that are not reported,
// since a cache may be behind.
const quietFailures = 2

// reportFailure reports that writing a plan failed, after this many failures in a row.
func (r *reporter) reportFailure(plan *plan.Plan, err error, failures int) {
	if failures < quietFailures {
		return
	}
	if group, ok := r.waitingGang(plan.Unit); ok {
		r.groups.setVerdict(plan.Unit.Key, group.UID, groups.SchedulerError(err.Error()))
		return
	}
	for i := range plan.Pods {
		r.pods.setVerdict(plan.Pods[i].Pod, podVerdict{
			uid: plan.Pods[i].UID, reason: corev1.PodReasonSchedulerError, message: err.Error(), event: err.Error(),
		})
	}
}

// reportPlan reports why the pods of a plan are not bound.
func (r *reporter) reportPlan(plan *plan.Plan, message string) {
	if group, ok := r.waitingGang(plan.Unit); ok {
		r.groups.setVerdict(plan.Unit.Key, group.UID, groups.Unschedulable(message))
		return
	}
	for i := range plan.Pods {
		r.pods.setVerdict(plan.Pods[i].Pod,
			podVerdict{uid: plan.Pods[i].UID, reason: corev1.PodReasonUnschedulable, message: message})
	}
}

// reportWithdrawn reports devices that do not become ready. It is an event, because the pods are
// tried with other devices immediately and may wait for another reason then.
func (r *reporter) reportWithdrawn(plan *plan.Plan, a attachment, why string) {
	if len(a.broken) == 0 {
		return
	}
	for i := range plan.Pods {
		if pod, ok := r.feed.Pod(plan.Pods[i].Pod); ok {
			r.events.Eventf(pod, corev1.EventTypeWarning, "FailedScheduling", "%s", why)
			if plan.Unit.Group {
				return // one event for the group
			}
		}
	}
}

// reportPlaced emits an event for each pod that was placed without a gang. A group has a condition.
func (r *reporter) reportPlaced(plan *plan.Plan) {
	for _, p := range plan.Pods {
		pod, ok := r.feed.Pod(p.Pod)
		if !ok || !r.successes.TryAccept() {
			continue
		}
		r.events.Eventf(pod, corev1.EventTypeNormal, "Scheduled", "Successfully assigned %s to %s", p.Pod, p.Node)
	}
}

// reportError reports that a unit was not placed because of an error.
func (r *reporter) reportError(unit *model.Unit, message string) {
	if group, ok := r.waitingGang(unit.Key); ok {
		r.groups.setVerdict(unit.Key.Key, group.UID, groups.SchedulerError(message))
		return
	}
	for _, pod := range unit.Pods {
		r.pods.setVerdict(pod.Key,
			podVerdict{uid: pod.UID, reason: corev1.PodReasonSchedulerError, message: message, event: message})
	}
}

// reportPreempting emits an event that names the victims for which a unit waits. Victims in other
// namespaces are counted and not named.
func (r *reporter) reportPreempting(unit *model.Unit, made *preempt.Result) {
	message := fmt.Sprintf("Preempting %d lower-priority pod(s)", made.Pods())
	if names := namesOf(unit.Key.Key.Namespace, made); names != "" {
		message += " (" + names + ")"
	}
	message += "; waiting for them to terminate"
	key := unit.Key.Key
	switch {
	case unit.Key.Group:
		if group, ok := r.groups.podGroups.Get(key.Namespace, key.Name); ok {
			r.events.Eventf(group, corev1.EventTypeNormal, "Preempting", "%s", message)
		}
	case unit.Key.Tree:
		if tree, ok := r.trees.composites.Get(key.Namespace, key.Name); ok {
			r.events.Eventf(tree, corev1.EventTypeNormal, "Preempting", "%s", message)
		}
	default:
		if pod, ok := r.feed.Pod(key); ok {
			r.events.Eventf(pod, corev1.EventTypeNormal, "Preempting", "%s", message)
		}
	}
}

// maxNamed is the maximum number of victims named in an event.
const maxNamed = 3

// namesOf returns the names of the first victims in the namespace.
func namesOf(namespace string, made *preempt.Result) string {
	var names []string
	for i := range made.Victims {
		v := &made.Victims[i]
		switch {
		case v.Pods[0].Key.Namespace != namespace:
		case v.Whole != nil:
			names = append(names, "all of PodGroup "+v.Whole.Key.Name)
		case v.Tree != nil:
			names = append(names, "all of CompositePodGroup "+v.Tree.Key().Name)
		default:
			names = append(names, v.Pods[0].Key.Name)
		}
	}
	if len(names) > maxNamed {
		names = append(names[:maxNamed], "…")
	}
	return strings.Join(names, ", ")
}

// nominatedNode returns the node for which a pod of the unit is nominated, or "".
func (r *reporter) nominatedNode(unit model.UnitKey, pod model.Key) string {
	n, ok := r.state.Nominations.Get(unit)
	if !ok {
		return ""
	}
	return preempt.NominatedNode(n, pod)
}

// nominatedNodes returns the nodes for which the pods of a unit are nominated, or nil.
func (r *reporter) nominatedNodes(unit *model.Unit) map[model.Key]string {
	n, ok := r.state.Nominations.Get(unit.Key)
	if !ok {
		return nil
	}
	return preempt.NominatedNodes(n, unit.Pods)
}
