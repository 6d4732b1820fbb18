package disruption

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	core "github.com/allot-dev/allot/api/core/v1"
)

// Timeout is the time after which a granted eviction counts as not done.
const Timeout = 2 * time.Minute

// NeedsScale reports whether the status depends on the requested number of pods.
func NeedsScale(spec *policyv1.PodDisruptionBudgetSpec) bool {
	return spec.MaxUnavailable != nil || spec.MinAvailable != nil && spec.MinAvailable.Type == intstr.String
}

// Wanted returns the expected number of pods, and how many of them must be healthy. scale is the
// number of pods that the owners request, where it is needed. A budget without either limit
// protects no pod and permits no eviction.
func Wanted(spec *policyv1.PodDisruptionBudgetSpec, pods, scale int32) (expected, healthy int32, err error) {
	switch {
	case spec.MaxUnavailable != nil:
		n, err := intstr.GetScaledValueFromIntOrPercent(spec.MaxUnavailable, int(scale), true)
		if err != nil {
			return 0, 0, fmt.Errorf("maxUnavailable: %w", err)
		}
		return scale, max(0, scale-int32(n)), nil
	case spec.MinAvailable == nil:
		return 0, 0, nil
	case spec.MinAvailable.Type == intstr.Int:
		return pods, spec.MinAvailable.IntVal, nil
	default:
		n, err := intstr.GetScaledValueFromIntOrPercent(spec.MinAvailable, int(scale), true)
		if err != nil {
			return 0, 0, fmt.Errorf("minAvailable: %w", err)
		}
		return scale, int32(n), nil
	}
}

// Counted is the result of Count.
type Counted struct {
	Status policyv1.PodDisruptionBudgetStatus
	// Again is the time until a granted eviction times out, or 0.
	Again time.Duration
	// Late lists the pods with a granted eviction that has timed out.
	Late []*core.Pod
}

// Count returns the status of a budget that selects pods.
func Count(b *policyv1.PodDisruptionBudget, pods []*core.Pod, expected, wanted int32, now time.Time) Counted {
	out := Counted{Status: policyv1.PodDisruptionBudgetStatus{
		ObservedGeneration: b.Generation,
		ExpectedPods:       expected,
		DesiredHealthy:     wanted,
		Conditions:         slices.Clone(b.Status.Conditions),
	}}
	s := &out.Status
	for _, pod := range pods {
		granted, ok := b.Status.DisruptedPods[pod.Name]
		switch {
		case pod.DeletionTimestamp != nil:
			continue
		case !ok:
		case !now.Before(granted.Add(Timeout)):
			out.Late = append(out.Late, pod)
		default:
			if s.DisruptedPods == nil {
				s.DisruptedPods = map[string]metav1.Time{}
			}
			s.DisruptedPods[pod.Name] = granted
			if left := granted.Add(Timeout).Sub(now); out.Again == 0 || left < out.Again {
				out.Again = left
			}
			continue
		}
		if isReady(pod) {
			s.CurrentHealthy++
		}
	}
	if expected > 0 {
		s.DisruptionsAllowed = max(0, s.CurrentHealthy-wanted)
	}
	allowed, reason := metav1.ConditionFalse, policyv1.InsufficientPodsReason
	if s.DisruptionsAllowed > 0 {
		allowed, reason = metav1.ConditionTrue, policyv1.SufficientPodsReason
	}
	setAllowed(s, allowed, reason, "", now)
	return out
}

// Unknown returns the status of a budget that could not be counted: no eviction is permitted.
func Unknown(b *policyv1.PodDisruptionBudget, why error, now time.Time) policyv1.PodDisruptionBudgetStatus {
	s := *b.Status.DeepCopy()
	s.DisruptionsAllowed = 0
	s.ObservedGeneration = b.Generation
	setAllowed(&s, metav1.ConditionFalse, policyv1.SyncFailedReason, why.Error(), now)
	return s
}

func setAllowed(
	s *policyv1.PodDisruptionBudgetStatus, status metav1.ConditionStatus, reason, message string, now time.Time,
) {
	meta.SetStatusCondition(&s.Conditions, metav1.Condition{
		Type: policyv1.DisruptionAllowedCondition, Status: status, Reason: reason, Message: message,
		ObservedGeneration: s.ObservedGeneration, LastTransitionTime: metav1.Time{Time: now.Truncate(time.Second)},
	})
}

func isReady(pod *core.Pod) bool {
	c := condition(pod, corev1.PodReady)
	return c != nil && c.Status == corev1.ConditionTrue
}

func condition(pod *core.Pod, t corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == t {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

// StaleMark reports whether the pod has the condition DisruptionTarget and was not disrupted in
// time, or the time until that is so, 0 for never. A node may take any time to end a pod, so that
// the conditions it sets do not become stale.
func StaleMark(pod *core.Pod, now time.Time) (stale bool, after time.Duration) {
	c := condition(pod, corev1.DisruptionTarget)
	if c == nil || c.Status != corev1.ConditionTrue || c.Reason == corev1.PodReasonTerminationByKubelet ||
		pod.DeletionTimestamp != nil ||
		pod.Finished() {
		return false, 0
	}
	if left := c.LastTransitionTime.Add(Timeout).Sub(now); left > 0 {
		return false, left
	}
	return true, 0
}

// Unmarked returns a copy of the pod with the condition DisruptionTarget set to false.
func Unmarked(pod *core.Pod, now time.Time) *core.Pod {
	out := pod.DeepCopy()
	if c := condition(out, corev1.DisruptionTarget); c != nil {
		c.Status, c.Reason, c.Message = corev1.ConditionFalse, "", ""
		c.LastTransitionTime, c.ObservedGeneration = metav1.Time{Time: now.Truncate(time.Second)}, pod.Generation
	}
	return out
}
