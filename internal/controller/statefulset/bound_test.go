package statefulset

import (
	"math"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apps "github.com/allot-dev/allot/api/apps/v1"
	core "github.com/allot-dev/allot/api/core/v1"
)

// The cost of a pass depends on the number of existing pods and on the limit of created pods, not
// on spec.replicas, which kubectl scale sets to any number.
func TestPassDoesNotDependOnReplicas(t *testing.T) {
	all, old := int32(math.MaxInt32), revisionFor(1)
	set := &apps.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	set.Spec.Replicas, set.Spec.PodManagementPolicy = &all, appsv1.ParallelPodManagement
	set.Spec.UpdateStrategy.Type = appsv1.RollingUpdateStatefulSetStrategyType
	pod := func(ordinal int) *core.Pod {
		pod := newPod(set, old, ordinal)
		pod.Status.Phase = corev1.PodRunning
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		return pod
	}
	far := math.MaxInt32 - 1
	g := Gathered{Set: set, Pods: []*core.Pod{pod(far), pod(1)}, Current: old, Update: revisionFor(2)}
	plan := Decide(g)
	if len(plan.Create) != burst || plan.Create[0].Pod.Name != "web-0" || plan.Create[1].Pod.Name != "web-2" {
		t.Errorf("%d pods are created, the first is %s", len(plan.Create), plan.Create[0].Pod.Name)
	}
	if len(plan.Delete) != 0 {
		t.Error("an available pod is deleted while others are missing")
	}
	if plan.Status.Replicas != 2 || plan.Status.AvailableReplicas != 2 {
		t.Errorf("status %+v", plan.Status)
	}
	g.Pods[0].Status.Conditions = nil
	if plan := Decide(g); len(plan.Delete) != 1 || plan.Delete[0] != g.Pods[0] {
		t.Error("an old pod that is of no use is kept")
	}
}
