package replicaset

import (
	"maps"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apps "github.com/allot-dev/allot/api/apps/v1"
	core "github.com/allot-dev/allot/api/core/v1"
)

// NewPod is the pod that rs wants, without a name: the server generates it.
func NewPod(rs *apps.ReplicaSet) *core.Pod {
	template := &rs.Spec.Template
	prefix := rs.Name + "-"
	if len(apivalidation.NameIsDNSSubdomain(prefix, true)) > 0 {
		prefix = rs.Name
	}
	return &core.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       rs.Namespace,
			GenerateName:    prefix,
			Labels:          maps.Clone(template.Labels),
			Annotations:     maps.Clone(template.Annotations),
			Finalizers:      slices.Clone(template.Finalizers),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(rs, kind)},
		},
		Spec: *template.Spec.DeepCopy(),
	}
}

func isActive(pod *core.Pod) bool { return !pod.Finished() && pod.DeletionTimestamp == nil }

// readySince is the time since which pod has been ready; ok is false if it is not.
func readySince(pod *core.Pod) (since time.Time, ok bool) {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.LastTransitionTime.Time, c.Status == corev1.ConditionTrue
		}
	}
	return time.Time{}, false
}

// untilAvailable is how long a pod must stay ready until it counts as available: 0 or
// less if it is now; ok is false for a pod that is not ready.
func untilAvailable(pod *core.Pod, minReadySeconds int32, now time.Time) (left time.Duration, ok bool) {
	since, ready := readySince(pod)
	if !ready {
		return 0, false
	}
	if minReadySeconds == 0 {
		return 0, true
	}
	window := time.Duration(minReadySeconds) * time.Second
	if since.IsZero() {
		return window, true
	}
	return since.Add(window).Sub(now), true
}

// NextAvailability is the time until the next ready pod becomes available; ok is
// false when none will without a further change.
func NextAvailability(pods []*core.Pod, minReadySeconds int32, now time.Time) (next time.Duration, ok bool) {
	next = math.MaxInt64
	for _, pod := range pods {
		if left, ready := untilAvailable(pod, minReadySeconds, now); ready && left > 0 {
			next, ok = min(next, left), true
		}
	}
	return next, ok
}
