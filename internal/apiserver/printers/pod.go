package printers

import (
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	core "github.com/allot-dev/allot/api/core/v1"
)

// nodeUnreachable is the status reason of a pod whose node stopped responding.
const nodeUnreachable = "NodeLost"

// Pod returns the printer of Pods.
func Pod() Printer {
	p := typed([]metav1.TableColumnDefinition{
		nameColumn(),
		computedColumn("Ready", "string", "The number of the pod's containers that are ready, of those that keep running."),
		computedColumn("Status", "string", "The pod's phase, or a more detailed state of its containers."),
		computedColumn("Restarts", "string", "The number of container restarts, and the time of the last one."),
		ageColumn(),
		wideOnly(column("IP", "string", corev1.PodStatus{}, "podIP")),
		wideOnly(column("Node", "string", corev1.PodSpec{}, "nodeName")),
		wideOnly(column("Nominated Node", "string", corev1.PodStatus{}, "nominatedNodeName")),
		wideOnly(column("Readiness Gates", "string", corev1.PodSpec{}, "readinessGates")),
	}, podCells)
	p.conditions = podConditions
	return p
}

func podCells(pod *core.Pod, now time.Time) []any {
	s := summarize(pod)
	restarts := strconv.Itoa(s.restarts.count)
	if s.restarts.count != 0 && !s.restarts.last.IsZero() {
		restarts = fmt.Sprintf("%d (%s ago)", s.restarts.count, age(s.restarts.last, now))
	}
	ip := ""
	if len(pod.Status.PodIPs) > 0 {
		ip = pod.Status.PodIPs[0].IP
	}
	return []any{
		pod.Name, fmt.Sprintf("%d/%d", s.ready, s.total), s.reason, restarts, age(pod.CreationTimestamp, now),
		orNone(ip), orNone(pod.Spec.NodeName), orNone(pod.Status.NominatedNodeName), readinessGates(pod),
	}
}

func podConditions(obj runtime.Object) []metav1.TableRowCondition {
	pod, ok := obj.(*core.Pod)
	if !ok {
		return nil
	}
	done := func(message string) []metav1.TableRowCondition {
		return []metav1.TableRowCondition{{
			Type: metav1.RowCompleted, Status: metav1.ConditionTrue, Reason: string(pod.Status.Phase), Message: message,
		}}
	}
	switch pod.Status.Phase {
	case corev1.PodSucceeded:
		return done("All containers of the pod succeeded.")
	case corev1.PodFailed:
		return done("A container of the pod failed.")
	}
	return nil
}

func readinessGates(pod *core.Pod) string {
	if len(pod.Spec.ReadinessGates) == 0 {
		return "<none>"
	}
	open := 0
	for _, gate := range pod.Spec.ReadinessGates {
		if hasCondition(&pod.Status, gate.ConditionType) {
			open++
		}
	}
	return fmt.Sprintf("%d/%d", open, len(pod.Spec.ReadinessGates))
}

// hasCondition reports whether the first condition of the type is true.
func hasCondition(status *corev1.PodStatus, kind corev1.PodConditionType) bool {
	for i := range status.Conditions {
		if status.Conditions[i].Type == kind {
			return status.Conditions[i].Status == corev1.ConditionTrue
		}
	}
	return false
}
