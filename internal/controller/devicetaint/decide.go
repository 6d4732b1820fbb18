package devicetaint

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/claims"
	"github.com/allot-dev/allot/internal/controller/eviction"
)

// judge returns the verdict on a pod, if its use of devices ends. A pod with tolerations that
// expired before it was scheduled lives for minLife.
func judge(pod *core.Pod, ends []tolerationEnd, minLife time.Duration) (eviction.Verdict, bool) {
	if len(ends) == 0 {
		return eviction.Verdict{}, false
	}
	first := slices.MinFunc(ends, func(a, b tolerationEnd) int { return a.time.Compare(b.time) })
	v := eviction.Verdict{At: first.time, Rules: map[types.UID]bool{}}
	causes := map[string]bool{}
	for _, e := range ends {
		causes[e.taint.source] = true
		if e.taint.rule != "" {
			v.Rules[e.taint.rule] = true
		}
	}
	v.Causes = strings.Join(slices.Sorted(maps.Keys(causes)), ", ")
	scheduled := eviction.ScheduledAt(pod)
	if first.tolerated && !first.time.After(scheduled) {
		v.Expired, v.At = true, scheduled.Add(minLife)
	}
	return v, true
}

// uses reports whether a pod that names the claim uses its devices.
func uses(pod *core.Pod, claim *resource.ResourceClaim) bool {
	if _, uid, generated := claims.OwnerPod(claim); generated && uid != pod.UID {
		return false
	}
	if claim.Status.Allocation == nil {
		return false
	}
	if ptr.Deref(claim.Status.Allocation.ReservedForAnyPod, false) {
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
			// only the owner knows which pods the consumer represents, so that all pods that name
			// the claim count
			return true
		}
	}
	return false
}

// countOf returns a text such as "1 pod needs to be evicted in 1 namespace".
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
