package podgc

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	core "github.com/allot-dev/allot/api/core/v1"
)

// Node is the state of a pod's node.
type Node struct {
	Exists       bool
	MissingFor   time.Duration // if it does not exist
	OutOfService bool          // it exists, is not ready, and has the taint out-of-service
}

// Verdict is the decision about a pod.
type Verdict struct {
	Delete   bool
	Disrupts bool          // the pod gets the condition DisruptionTarget
	Wait     time.Duration // time until the next check; 0 means after the next event
}

// Decide decides about a pod. node is ignored for a pod without a node.
func Decide(pod *core.Pod, node Node, quarantine time.Duration) Verdict {
	deleting := pod.DeletionTimestamp != nil
	switch {
	case deleting && isForced(pod):
		// it is held by finalizers alone
		return Verdict{}
	case pod.Spec.NodeName == "":
		return Verdict{Delete: deleting}
	case node.Exists:
		return Verdict{Delete: deleting && node.OutOfService}
	case deleting || node.MissingFor >= quarantine:
		return Verdict{Delete: true, Disrupts: true}
	}
	return Verdict{Wait: quarantine - node.MissingFor}
}

// isForced reports whether the pod has finished and was deleted without a grace period.
func isForced(pod *core.Pod) bool {
	grace := pod.DeletionGracePeriodSeconds
	return pod.Finished() && grace != nil && *grace == 0
}

// Failed returns the pod with phase Failed and, if it was disrupted, the condition for that.
// changed is false for a finished pod, which keeps its phase.
func Failed(pod *core.Pod, disrupted bool, now time.Time) (failed *core.Pod, changed bool) {
	if pod.Finished() {
		return pod, false
	}
	copied := *pod
	copied.Status.Phase = corev1.PodFailed
	copied.Status.ObservedGeneration = pod.Generation
	if !disrupted {
		return &copied, true
	}
	condition := corev1.PodCondition{
		Type:               corev1.DisruptionTarget,
		Status:             corev1.ConditionTrue,
		Reason:             "DeletionByPodGC",
		Message:            "PodGC: node no longer exists",
		ObservedGeneration: pod.Generation,
		LastTransitionTime: metav1.NewTime(now),
	}
	copied.Status.Conditions = slices.Clone(pod.Status.Conditions)
	i := slices.IndexFunc(copied.Status.Conditions,
		func(c corev1.PodCondition) bool { return c.Type == corev1.DisruptionTarget })
	if i < 0 {
		copied.Status.Conditions = append(copied.Status.Conditions, condition)
		return &copied, true
	}
	if old := copied.Status.Conditions[i]; old.Status == condition.Status {
		condition.LastTransitionTime = old.LastTransitionTime
	}
	copied.Status.Conditions[i] = condition
	return &copied, true
}

// isOutOfService reports whether an existing node will not terminate its pods.
func isOutOfService(node *corev1.Node) bool {
	tainted := slices.ContainsFunc(node.Spec.Taints,
		func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeOutOfService })
	ready := slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
	return tainted && !ready
}
