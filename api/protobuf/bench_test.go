package protobuf

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// typicalPod returns a pod that takes 1 KB as protobuf and 2 KB as JSON.
func typicalPod() *corev1.Pod {
	started := metav1.NewTime(time.Unix(1767225600, 0))
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "trainer-5d8f7c9b6d-x2x7k", GenerateName: "trainer-5d8f7c9b6d-", Namespace: "research",
			UID: "8c1c7f2e-54a1-4b3e-9a5d-2f7d5c0e6b11", ResourceVersion: "1048576", CreationTimestamp: started,
			Labels: map[string]string{"app": "trainer", "team": "research", "pod-template-hash": "5d8f7c9b6d"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "trainer-5d8f7c9b6d",
				UID: "0d4bb7b1-7b52-43f4-8d6a-5a0f3f0c9c0e", Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
			}},
			ManagedFields: []metav1.ManagedFieldsEntry{{
				Manager: "controller", Operation: "Update", APIVersion: "v1", Time: &started, FieldsType: "FieldsV1",
				FieldsV1: metav1.NewFieldsV1(
					`{"f:metadata":{"f:labels":{".":{},"f:app":{},"f:team":{}}},"f:spec":{"f:containers":{}}}`,
				),
			}},
		},
		Spec: corev1.PodSpec{
			RestartPolicy: "Always", DNSPolicy: "ClusterFirst", SchedulerName: "default-scheduler", NodeName: "node-17",
			ServiceAccountName: "default", NodeSelector: map[string]string{"accelerator": "present"},
			TerminationGracePeriodSeconds: ptr.To(int64(30)), Priority: ptr.To(int32(0)), EnableServiceLinks: ptr.To(true),
			ResourceClaims: []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: ptr.To("gpu-template")}},
			Tolerations: []corev1.Toleration{
				{Key: corev1.TaintNodeNotReady, Operator: "Exists", Effect: "NoExecute", TolerationSeconds: ptr.To(int64(300))},
				{Key: corev1.TaintNodeUnreachable, Operator: "Exists", Effect: "NoExecute", TolerationSeconds: ptr.To(int64(300))},
			},
		},
		Status: corev1.PodStatus{Phase: "Running", PodIP: "10.0.0.17", StartTime: &started, QOSClass: "Burstable"},
	}
	for _, name := range []string{"main", "sidecar"} {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{
			Name: name, Image: "registry.example.com/" + name + ":1.2.3", ImagePullPolicy: "IfNotPresent",
			Env: []corev1.EnvVar{{Name: "MODE", Value: "train"}},
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{"cpu": resource.MustParse("500m"), "memory": resource.MustParse("1Gi")},
				Claims:   []corev1.ResourceClaim{{Name: "gpu"}},
			},
		})
	}
	for _, kind := range []corev1.PodConditionType{"PodScheduled", "Initialized", "ContainersReady", "Ready"} {
		pod.Status.Conditions = append(pod.Status.Conditions,
			corev1.PodCondition{Type: kind, Status: "True", LastTransitionTime: started})
	}
	return pod
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// operations are encoding and decoding, by upstream's code and by allot's for Pod, PodSpec and
// PodResourceClaim.
func operations() map[string]struct{ upstream, walked func() } {
	pod, c := typicalPod(), walkers()["spine"]
	data, err := pod.Marshal()
	must(err)
	return map[string]struct{ upstream, walked func() }{
		"encode": {
			upstream: func() { _, err := pod.Marshal(); must(err) },
			walked:   func() { _, err := c.marshal(pod); must(err) },
		},
		"decode": {
			upstream: func() { must((&corev1.Pod{}).Unmarshal(data)) },
			walked:   func() { must(c.unmarshal(data, &corev1.Pod{})) },
		},
	}
}

func BenchmarkPod(b *testing.B) {
	for name, op := range operations() {
		for who, run := range map[string]func(){"upstream": op.upstream, "walked": op.walked} {
			b.Run(fmt.Sprintf("%s/%s", name, who), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					run()
				}
			})
		}
	}
}

// TestTimeIsNearUpstreams compares the fastest of many short runs. The two sides alternate, so that
// other load on the machine affects both. The goal is twice upstream's time; the limit is higher,
// to allow for noise.
func TestTimeIsNearUpstreams(t *testing.T) {
	if testing.Short() {
		t.Skip("measures time")
	}
	for name, op := range operations() {
		upstream, walked := time.Hour, time.Hour
		for range 100 {
			upstream, walked = min(upstream, timeOf(op.upstream)), min(walked, timeOf(op.walked))
		}
		t.Logf("%s: upstream %v, walked %v for 20 pods", name, upstream, walked)
		if walked > 5*upstream {
			t.Errorf("%s takes %.1f times upstream's time, limit 5", name, float64(walked)/float64(upstream))
		}
	}
}

func timeOf(run func()) time.Duration {
	start := time.Now()
	for range 20 {
		run()
	}
	return time.Since(start)
}
