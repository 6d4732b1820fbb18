package scheduler

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/allot-dev/allot/internal/groups"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
)

// tell reports why pods wait: to a gang that is not placed, which passes it on to its pods, and else to the pods, each of
// which may be placed without the others.
func (s *Scheduler) tell(unit *model.Unit, reasons *sched.Reasons) {
	message := reasons.Short() + s.notReady(reasons)
	_, gang := s.waitingGang(unit.Key)
	switch {
	case reasons.Code == sched.CodeBelowQuorum:
		// groupStatus counts for itself, and waits until the count stands still; but it takes pods of others for members.
		s.tellDivided(unit.Group)
	case reasons.Code == sched.CodeGated:
		s.tellGated(unit.Group)
	case gang && reasons.Code == sched.CodeUndecided:
		s.groups.say(unit.Key.Key, unit.Group.UID, groups.SchedulerError(message))
	case gang && reasons.Code != sched.CodeLeftOver:
		s.groups.sayWaiting(unit.Key.Key, unit.Group.UID, groups.Unschedulable(message), s.keptNodes(unit))
	default:
		switch {
		case unit.Group == nil:
		case unit.Group.Gang:
			s.groups.unsay(unit.Key.Key)
		case reasons.Code != sched.CodeLeftOver:
			s.groups.say(unit.Key.Key, unit.Group.UID, groups.Unschedulable(message))
		}
		s.tellPods(unit, reasons)
	}
}

// waitingGang returns the gang of a unit if fewer than minCount of its pods are placed. Only then why a pod waits is the
// matter of all its pods. As for its conditions, pods that have finished count as placed; binds that are not seen yet do not.
func (s *Scheduler) waitingGang(key model.UnitKey) (*model.Group, bool) {
	group, ok := s.state.Groups.Get(key.Key)
	if !ok || !key.Group || !group.Gang {
		return nil, false
	}
	placed := 0
	for _, pod := range s.state.Groups.Members(key.Key) {
		if pod.Node != "" && !pod.Deleting && !s.state.Pods.Assumed(pod.Key) {
			placed++
		}
	}
	return group, placed < group.MinCount
}

// notReady names the devices that nobody has, and that are not given out for now.
func (s *Scheduler) notReady(reasons *sched.Reasons) string {
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

// tellGated reports to a group and all its pods that wait that scheduling gates hold them.
func (s *Scheduler) tellGated(group *model.Group) {
	s.groups.sayToAll(group.Key, group.UID, groups.Unschedulable(sched.Gates(s.state.Groups.Members(group.Key))))
}

// tellDivided says, of a gang that is too small here, which of its members another scheduler would have to place (F27).
func (s *Scheduler) tellDivided(group *model.Group) {
	census := s.state.Groups.Census(group.Key)
	if census.Foreign == 0 {
		return // those of others would be
	}
	other, n := "", 0
	for _, pod := range s.state.Groups.Members(group.Key) {
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
	s.groups.say(group.Key, group.UID, groups.Unschedulable(fmt.Sprintf("%d of %d pods have schedulerName %s, %s: a gang is placed by one scheduler",
		census.Ready, group.MinCount, s.groups.name, other)))
}

// tellPods tells each pod that has no place its own reason.
func (s *Scheduler) tellPods(unit *model.Unit, reasons *sched.Reasons) {
	told := map[model.Key]string{}
	for i := range reasons.Pods {
		for _, key := range reasons.Pods[i].Pods {
			told[key] = reasons.With(reasons.Pods[i].Short() + s.notReady(reasons))
		}
	}
	for _, pod := range unit.Pods {
		message, ok := told[pod.Key]
		if !ok && reasons.Code != sched.CodeLeftOver { // it would have a place if all that are needed had one
			message, ok = reasons.Short()+s.notReady(reasons), true
		}
		if ok {
			s.pods.say(pod.Key, podVerdict{
				uid: pod.UID, reason: corev1.PodReasonUnschedulable, message: message, nominated: s.keptNode(unit.Key, pod.Key), event: message,
			})
		}
	}
}

// quietFailures is how many failures of a unit's plans in a row are not worth telling: a cache may be behind.
const quietFailures = 2

// tellFailure says that writing a plan fails again and again, and why.
func (s *Scheduler) tellFailure(plan *sched.Plan, err error) {
	if s.failures[plan.Unit] < quietFailures {
		return
	}
	if group, ok := s.waitingGang(plan.Unit); ok {
		s.groups.say(plan.Unit.Key, group.UID, groups.SchedulerError(err.Error()))
		return
	}
	for i := range plan.Pods {
		s.pods.say(plan.Pods[i].Pod, podVerdict{uid: plan.Pods[i].UID, reason: corev1.PodReasonSchedulerError, message: err.Error(), event: err.Error()})
	}
}

// tellWaiting says for what a plan waits before its binds, once.
func (s *Scheduler) tellWaiting(w *waiting, message string) {
	if w.said != message {
		w.said = message
		s.tellPlan(w.plan, message)
	}
}

// tellPlan says why the pods of a plan are not bound.
func (s *Scheduler) tellPlan(plan *sched.Plan, message string) {
	if group, ok := s.waitingGang(plan.Unit); ok {
		s.groups.say(plan.Unit.Key, group.UID, groups.Unschedulable(message))
		return
	}
	for i := range plan.Pods {
		s.pods.say(plan.Pods[i].Pod, podVerdict{uid: plan.Pods[i].UID, reason: corev1.PodReasonUnschedulable, message: message})
	}
}

// tellWithdrawn says that devices do not become ready: by an event, as the pods are tried with other devices at once and
// may have other reasons to wait then.
func (s *Scheduler) tellWithdrawn(plan *sched.Plan, a attachment, why string) {
	if len(a.broken) == 0 {
		return
	}
	for i := range plan.Pods {
		if pod, ok := s.feed.Pod(plan.Pods[i].Pod); ok {
			s.events.Eventf(pod, corev1.EventTypeWarning, "FailedScheduling", "%s", why)
			if plan.Unit.Group {
				return // one member stands for all
			}
		}
	}
}

// tellPlaced publishes an event for a pod that was placed alone. Groups have a condition for that.
func (s *Scheduler) tellPlaced(plan *sched.Plan) {
	for _, p := range plan.Pods {
		pod, ok := s.feed.Pod(p.Pod)
		if !ok || !s.successes.TryAccept() {
			continue
		}
		s.events.Eventf(pod, corev1.EventTypeNormal, "Scheduled", "Successfully assigned %s to %s", p.Pod, p.Node)
	}
}
