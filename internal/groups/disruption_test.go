package groups_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	core "github.com/allot-dev/allot/api/core/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/groups"
)

// A group gets the condition DisruptionTarget when all its pods on nodes have it, and loses it when
// none has, but does not change in between (R36).
func TestDisruptionFollowsThePods(t *testing.T) {
	group := &scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "g", Generation: 3}}
	pod := func(node string, victim bool) *core.Pod {
		name := "g"
		pod := &core.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns"}}
		pod.Spec.SchedulingGroup, pod.Spec.NodeName = &corev1.PodSchedulingGroup{PodGroupName: &name}, node
		if victim {
			pod.Status.Conditions = []corev1.PodCondition{{
				Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: corev1.PodReasonPreemptionByScheduler,
				Message: "why",
			}}
		}
		return pod
	}
	for _, step := range []struct {
		name string
		pods []*core.Pod
		want string
	}{
		{"placed", []*core.Pod{pod("n", false), pod("n", false)}, ""},
		{"one was chosen", []*core.Pod{pod("n", true), pod("n", false)}, ""},
		{"all were chosen", []*core.Pod{pod("n", true), pod("n", true), pod("", false)}, "True PreemptionByScheduler why 3"},
		{"all are gone", []*core.Pod{pod("", false)}, "True PreemptionByScheduler why 3"},
		{"one is placed while one still goes", []*core.Pod{pod("n", true), pod("n", false)},
			"True PreemptionByScheduler why 3"},
		{"rescheduled", []*core.Pod{pod("n", false)}, "False Rescheduled pods were scheduled again 3"},
	} {
		conditions, _ := groups.Disruption(group, step.pods, group.Status.Conditions, metav1.NewTime(time.Unix(1, 0)))
		group.Status.Conditions = conditions
		got := ""
		for _, c := range conditions {
			got += string(c.Status) + " " + c.Reason + " " + c.Message + " " + string(rune('0'+c.ObservedGeneration))
		}
		if got != step.want {
			t.Errorf("%s: the condition is %q, want %q", step.name, got, step.want)
		}
		if _, again := groups.Disruption(group, step.pods, conditions, metav1.NewTime(time.Unix(2, 0))); again {
			t.Errorf("%s: it changes again", step.name)
		}
	}
}
