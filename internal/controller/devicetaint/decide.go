package devicetaint

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/claims"
)

// verdict is what taints do to a pod: at some time it is evicted.
type verdict struct {
	at     time.Time
	causes string // where the taints come from, for people
	// expired: a toleration that would have left time was over before the pod was scheduled.
	expired bool
	rules   map[types.UID]bool // that have a part in it
}

// judge gives the verdict on a pod whose use of devices ends; none without an end. A pod whose tolerations were over
// before it was scheduled has minLife.
func judge(pod *core.Pod, ends []end, minLife time.Duration) (verdict, bool) {
	if len(ends) == 0 {
		return verdict{}, false
	}
	first := slices.MinFunc(ends, func(a, b end) int { return a.at.Compare(b.at) })
	v := verdict{at: first.at, rules: map[types.UID]bool{}}
	causes := map[string]bool{}
	for _, e := range ends {
		causes[e.taint.from] = true
		if e.taint.rule != "" {
			v.rules[e.taint.rule] = true
		}
	}
	v.causes = strings.Join(slices.Sorted(maps.Keys(causes)), ", ")
	scheduled := scheduledAt(pod)
	if first.tolerated && !first.at.After(scheduled) {
		v.expired, v.at = true, scheduled.Add(minLife)
	}
	return v, true
}

// scheduledAt is when the pod was bound, to the second; zero if that is not known.
func scheduledAt(pod *core.Pod) time.Time {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

// evictable tells whether the pod is there to be evicted.
func evictable(pod *core.Pod) bool {
	return pod.Spec.NodeName != "" && pod.DeletionTimestamp == nil && !claims.PodDone(pod)
}

// uses tells whether a pod that names a claim runs with it.
func uses(pod *core.Pod, claim *resource.ResourceClaim) bool {
	if _, uid, generated := claims.OwnerPod(claim); generated && uid != pod.UID {
		return false
	}
	if claim.Status.Allocation == nil {
		return false
	}
	if any := claim.Status.Allocation.ReservedForAnyPod; any != nil && *any {
		return true
	}
	group, member := claims.GroupName(pod)
	for _, ref := range claim.Status.ReservedFor {
		switch {
		case claims.IsPodConsumer(ref):
			if ref.UID == pod.UID {
				return true
			}
		case claims.IsGroupConsumer(ref):
			if member && ref.Name == group {
				return true
			}
		default:
			return true // nobody but its owner knows which pods it stands for: all that name the claim
		}
	}
	return false
}

// countOf says how many pods in how many namespaces, as "1 pod needs to be evicted in 1 namespace".
func countOf(pods []types.NamespacedName, one, many string) string {
	namespaces := map[string]bool{}
	for _, pod := range pods {
		namespaces[pod.Namespace] = true
	}
	where := "1 namespace"
	if len(namespaces) != 1 {
		where = fmt.Sprintf("%d different namespaces", len(namespaces))
	}
	if len(pods) == 1 {
		return "1 pod " + one + " in " + where
	}
	return fmt.Sprintf("%d pods %s in %s", len(pods), many, where)
}
