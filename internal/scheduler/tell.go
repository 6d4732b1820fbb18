package scheduler

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/allot-dev/allot/internal/groups"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
)

// tell says why pods wait: to the group, which passes it on to its pods, or to the pods when
// they stand alone.
func (s *Scheduler) tell(unit *model.Unit, reasons *sched.Reasons) {
	message := reasons.Short()
	gang := unit.Group != nil && unit.Group.Gang
	switch {
	case reasons.Code == sched.CodeBelowQuorum:
		return // groupStatus counts for itself, and waits until the count stands still
	case gang && reasons.Code == sched.CodeUndecided:
		s.groups.say(unit.Key.Key, unit.Group.UID, groups.SchedulerError(message))
	case gang && reasons.Code != sched.CodeLeftOver:
		s.groups.say(unit.Key.Key, unit.Group.UID, groups.Unschedulable(message))
	default:
		if unit.Group != nil && reasons.Code != sched.CodeLeftOver {
			s.groups.say(unit.Key.Key, unit.Group.UID, groups.Unschedulable(message))
		}
		s.tellPods(unit, reasons)
	}
}

// tellPods tells each pod that has no place its own reason.
func (s *Scheduler) tellPods(unit *model.Unit, reasons *sched.Reasons) {
	told := map[model.Key]string{}
	for i := range reasons.Pods {
		for _, key := range reasons.Pods[i].Pods {
			told[key] = reasons.Pods[i].Short()
		}
	}
	for _, pod := range unit.Pods {
		message, ok := told[pod.Key]
		if len(reasons.Pods) == 0 {
			message, ok = reasons.Short(), true
		}
		if ok {
			s.pods.say(pod.Key, podVerdict{uid: pod.UID, reason: corev1.PodReasonUnschedulable, message: message, event: true})
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
	if group, ok := s.state.Group(plan.Unit.Key); ok && plan.Unit.Group && group.Gang {
		s.groups.say(plan.Unit.Key, group.UID, groups.SchedulerError(err.Error()))
		return
	}
	for i := range plan.Pods {
		s.pods.say(plan.Pods[i].Pod, podVerdict{uid: plan.Pods[i].UID, reason: corev1.PodReasonSchedulerError, message: err.Error(), event: true})
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
