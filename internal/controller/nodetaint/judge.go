package nodetaint

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/controller/eviction"
)

// noExecute returns the taints of a node with effect NoExecute.
func noExecute(node *corev1.Node) []corev1.Taint {
	return slices.DeleteFunc(slices.Clone(node.Spec.Taints),
		func(t corev1.Taint) bool { return t.Effect != corev1.TaintEffectNoExecute })
}

// judge returns when a pod must leave its node. since returns the time at which a taint was added.
func judge(pod *core.Pod, node *corev1.Node, since func(*corev1.Taint) time.Time) (eviction.Verdict, bool) {
	var v eviction.Verdict
	causes := map[string]bool{}
	for _, taint := range noExecute(node) {
		at, ends := endOf(pod, &taint, since)
		if !ends {
			continue
		}
		if len(causes) == 0 || at.Before(v.At) {
			v.At = at
		}
		causes[taint.ToString()] = true
	}
	if len(causes) == 0 {
		return v, false
	}
	v.Causes = fmt.Sprintf("Node %s, %s", node.Name, strings.Join(slices.Sorted(maps.Keys(causes)), ", "))
	return v, true
}

// endOf returns the time at which a taint evicts a pod, or false if it is tolerated without a
// limit.
func endOf(pod *core.Pod, taint *corev1.Taint, since func(*corev1.Taint) time.Time) (time.Time, bool) {
	at := slices.IndexFunc(pod.Spec.Tolerations,
		func(t corev1.Toleration) bool { return t.ToleratesTaint(klog.Background(), taint, false) })
	if at < 0 {
		return time.Time{}, true
	}
	seconds := pod.Spec.Tolerations[at].TolerationSeconds
	if seconds == nil {
		return time.Time{}, false
	}
	start := since(taint)
	if scheduled := eviction.ScheduledAt(pod); scheduled.After(start) {
		start = scheduled
	}
	return start.Add(eviction.Seconds(*seconds)), true
}
