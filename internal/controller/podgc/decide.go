package podgc

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	core "github.com/allot-dev/allot/api/core/v1"
)

// Node is what is known of the node of a pod.
type Node struct {
	Exists       bool
	MissingFor   time.Duration // if it does not exist
	OutOfService bool          // it exists, is not ready, and has the out-of-service taint
}

// Verdict is what becomes of a pod.
type Verdict struct {
	Delete   bool
	Disrupts bool          // the pod is to say that it was disrupted
	Wait     time.Duration // judge again after that time; 0: when something changes
}

// Decide judges a pod. node is of no account for a pod without node.
func Decide(pod *core.Pod, node Node, quarantine time.Duration) Verdict {
	deleting := pod.DeletionTimestamp != nil
	switch {
	case deleting && isForced(pod):
		// Only finalizers of others hold it.
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

// isForced says that the pod has been marked and deleted without grace already.
func isForced(pod *core.Pod) bool {
	grace := pod.DeletionGracePeriodSeconds
	return pod.Finished() && grace != nil && *grace == 0
}

// Failed is pod with phase Failed and, if it was disrupted, the condition that says so;
// changed is false for a finished pod, whose result stands.
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
	i := slices.IndexFunc(copied.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.DisruptionTarget })
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

// isOutOfService says that an existing node will not finish its pods.
func isOutOfService(node *corev1.Node) bool {
	tainted := slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeOutOfService })
	ready := slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
	return tainted && !ready
}
