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

// Timeout is how long an eviction that was granted may take until it counts as not done.
const Timeout = 2 * time.Minute

// NeedsScale is true where the number of pods that there should be matters, and not only of those that there are.
func NeedsScale(spec *policyv1.PodDisruptionBudgetSpec) bool {
	return spec.MaxUnavailable != nil || spec.MinAvailable != nil && spec.MinAvailable.Type == intstr.String
}

// Wanted gives how many pods are expected, and how many of them have to be healthy; scale is what the owners of the pods ask
// for, where it is needed. A budget that says nothing protects nothing, and allows nothing.
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

// Counted is the outcome of counting.
type Counted struct {
	Status policyv1.PodDisruptionBudgetStatus
	// Again is when a granted eviction times out; zero if none is awaited.
	Again time.Duration
	// Late are the pods whose eviction was granted and has timed out.
	Late []*core.Pod
}

// Count gives the status of a budget that selects pods.
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

// Unknown is the status of a budget whose counts could not be found out: nothing may be evicted.
func Unknown(b *policyv1.PodDisruptionBudget, why error, now time.Time) policyv1.PodDisruptionBudgetStatus {
	s := *b.Status.DeepCopy()
	s.DisruptionsAllowed = 0
	s.ObservedGeneration = b.Generation
	setAllowed(&s, metav1.ConditionFalse, policyv1.SyncFailedReason, why.Error(), now)
	return s
}

func setAllowed(s *policyv1.PodDisruptionBudgetStatus, status metav1.ConditionStatus, reason, message string, now time.Time) {
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

// StaleMark is whether a pod is marked as about to be disrupted and was not, and after what time it will be so; false and
// zero say never. A node may take any time to end a pod, so its marks do not grow stale.
func StaleMark(pod *core.Pod, now time.Time) (stale bool, after time.Duration) {
	c := condition(pod, corev1.DisruptionTarget)
	if c == nil || c.Status != corev1.ConditionTrue || c.Reason == corev1.PodReasonTerminationByKubelet || pod.DeletionTimestamp != nil || pod.Finished() {
		return false, 0
	}
	if left := c.LastTransitionTime.Add(Timeout).Sub(now); left > 0 {
		return false, left
	}
	return true, 0
}

// Unmarked is a copy of pod that is not about to be disrupted any more.
func Unmarked(pod *core.Pod, now time.Time) *core.Pod {
	out := pod.DeepCopy()
	if c := condition(out, corev1.DisruptionTarget); c != nil {
		c.Status, c.Reason, c.Message = corev1.ConditionFalse, "", ""
		c.LastTransitionTime, c.ObservedGeneration = metav1.Time{Time: now.Truncate(time.Second)}, pod.Generation
	}
	return out
}
