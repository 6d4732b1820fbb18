package replica

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	core "github.com/allot-dev/allot/api/core/v1"
)

func TestNewSharesNothingWithTheTemplate(t *testing.T) {
	owner := &metav1.ObjectMeta{Name: "web", Namespace: "default", UID: "me"}
	template := &core.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}, Finalizers: []string{"a"}},
		Spec:       core.PodSpec{Containers: []corev1.Container{{Name: "main"}}},
	}
	pod := New(owner, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"), template)
	if pod.GenerateName != "web-" || pod.Namespace != "default" || !metav1.IsControlledBy(pod, owner) {
		t.Errorf("pod %+v", pod.ObjectMeta)
	}
	pod.Labels["app"], pod.Finalizers[0], pod.Spec.Containers[0].Name = "x", "x", "x"
	if template.Labels["app"] != "web" || template.Finalizers[0] != "a" || template.Spec.Containers[0].Name != "main" {
		t.Errorf("the template changed with the pod: %+v", template)
	}
}

func TestAvailability(t *testing.T) {
	now := time.Unix(1000, 0)
	readySince := func(status corev1.ConditionStatus, since time.Time) *core.Pod {
		return &core.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
			{Type: corev1.PodReady, Status: status, LastTransitionTime: metav1.NewTime(since)},
		}}}
	}
	yes, no := corev1.ConditionTrue, corev1.ConditionFalse
	pods := []*core.Pod{
		{}, readySince(no, now.Add(-time.Hour)), readySince(yes, now), readySince(yes, now.Add(-9*time.Second)),
		readySince(yes, now.Add(-10*time.Second)), readySince(yes, time.Time{}),
	}
	for i, want := range []struct{ ready, atOnce, after10s bool }{
		{}, {}, {true, true, false}, {true, true, false}, {true, true, true}, {true, true, false},
	} {
		pod := pods[i]
		if Ready(pod) != want.ready || Available(pod, 0, now) != want.atOnce || Available(pod, 10, now) != want.after10s {
			t.Errorf("pod %d: ready %v, available %v, after 10 s %v; want %v", i, Ready(pod), Available(pod, 0, now),
				Available(pod, 10, now), want)
		}
	}
	if next, ok := NextAvailability(pods, 10, now); !ok || next != time.Second {
		t.Errorf("next after %v, %v; want 1s", next, ok)
	}
	if _, ok := NextAvailability(pods, 0, now); ok {
		t.Error("all that are ready are available: nothing comes by itself")
	}
}
