package protobuf_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	serializer "k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/utils/ptr"

	apps "github.com/allot-dev/allot/api/apps/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	placement "github.com/allot-dev/allot/api/placement/v1alpha2"
	"github.com/allot-dev/allot/api/protobuf"
	resource "github.com/allot-dev/allot/api/resource/v1"
	resourcev1alpha3 "github.com/allot-dev/allot/api/resource/v1alpha3"
	schedulingv1alpha2 "github.com/allot-dev/allot/api/scheduling/v1alpha2"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

func TestEveryDeltaKindCanBeEncoded(t *testing.T) {
	for _, kind := range []runtime.Object{
		&core.Pod{}, &core.PodList{}, &apps.Deployment{}, &apps.DeploymentList{}, &apps.ReplicaSet{}, &apps.ReplicaSetList{},
		&resource.ResourceClaim{}, &resource.ResourceClaimList{}, &resource.ResourceClaimTemplate{},
		&resource.ResourceClaimTemplateList{},
		&resourcev1alpha3.ClusterResourceClaimTemplate{}, &resourcev1alpha3.ClusterResourceClaimTemplateList{},
		&scheduling.PodGroup{}, &scheduling.PodGroupList{}, &scheduling.Workload{}, &scheduling.WorkloadList{},
		&schedulingv1alpha2.PodGroup{}, &schedulingv1alpha2.PodGroupList{}, &schedulingv1alpha2.Workload{},
		&schedulingv1alpha2.WorkloadList{},
		&placement.Placement{},
	} {
		if err := protobuf.Check(kind); err != nil {
			t.Error(err)
		}
		if _, ok := kind.(runtime.ProtobufReverseMarshaller); !ok {
			t.Errorf("%T lacks the methods that apimachinery's serializer calls", kind)
		}
	}
}

// upstreamPods and deltaPods are equal lists, except for the added fields.
func upstreamPods() *corev1.PodList {
	pod := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "ns", Labels: map[string]string{"app": "x", "zone": "y"}},
		Spec: corev1.PodSpec{
			Containers:     []corev1.Container{{Name: "main", Image: "image"}},
			NodeSelector:   map[string]string{"disk": "ssd", "arch": "arm"},
			ResourceClaims: []corev1.PodResourceClaim{{Name: "gpu"}, {Name: "nic", ResourceClaimName: ptr.To("shared")}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
	return &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}, Items: []corev1.Pod{pod, {}}}
}

func deltaPods(t *testing.T) *core.PodList {
	t.Helper()
	data, err := upstreamPods().Marshal()
	if err != nil {
		t.Fatal(err)
	}
	list := &core.PodList{}
	if err := list.Unmarshal(data); err != nil {
		t.Fatal(err)
	}
	return list
}

func TestSerializerWritesUpstreamsBytes(t *testing.T) {
	for name, s := range serializers(t) {
		want, got := encode(t, s, upstreamPods()), encode(t, s, deltaPods(t))
		if !bytes.Equal(want, got) {
			t.Errorf("%s: a pod list without added fields is\n%x\nupstream's\n%x", name, got, want)
		}
	}
}

func TestSerializerCarriesAddedFields(t *testing.T) {
	for name, s := range serializers(t) {
		list := deltaPods(t)
		list.Items[0].Spec.ResourceClaims[0].PodGroupResourceClaim = ptr.To("group-gpu")
		data := encode(t, s, list)
		got := &core.PodList{}
		decode(t, s, data, got)
		if diff := cmp.Diff(list, got); diff != "" {
			t.Errorf("%s: round trip (-want +got):\n%s", name, diff)
		}
		stock := &corev1.PodList{}
		decode(t, s, data, stock)
		if diff := cmp.Diff(upstreamPods(), stock); diff != "" {
			t.Errorf("%s: a stock client reads (-want +got):\n%s", name, diff)
		}
	}
}

// serializers returns apimachinery's serializers, with and without the encoder that writes lists
// item by item. Without a scheme they decode into the given type.
func serializers(t *testing.T) map[string]*serializer.Serializer {
	t.Helper()
	scheme := runtime.NewScheme()
	return map[string]*serializer.Serializer{
		"whole": serializer.NewSerializer(scheme, scheme),
		"streaming": serializer.NewSerializerWithOptions(scheme, scheme,
			serializer.SerializerOptions{StreamingCollectionsEncoding: true}),
	}
}

func encode(t *testing.T, s *serializer.Serializer, obj runtime.Object) []byte {
	t.Helper()
	obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	var buf bytes.Buffer
	if err := s.Encode(obj, &buf); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func decode(t *testing.T, s *serializer.Serializer, data []byte, into runtime.Object) {
	t.Helper()
	if _, _, err := s.Decode(data, nil, into); err != nil {
		t.Fatal(err)
	}
}

func TestAddedFieldsSurviveInEachKind(t *testing.T) {
	claim := &resource.ResourceClaim{}
	claim.Spec.ReservedFor = &resourcev1.ResourceClaimConsumerReference{
		APIGroup: "scheduling.k8s.io",
		Resource: "podgroups",
		Name:     "g",
	}
	claim.Status.Allocation = &resource.AllocationResult{ReservedForAnyPod: ptr.To(true)}
	roundTrip(t, claim, &resource.ResourceClaim{})

	group := &scheduling.PodGroup{}
	group.Spec.ResourceClaims = []scheduling.PodGroupResourceClaim{{
		PodGroupResourceClaim:            schedulingv1beta1.PodGroupResourceClaim{Name: "gpu"},
		ClusterResourceClaimTemplateName: ptr.To("template"),
	}}
	roundTrip(t, group, &scheduling.PodGroup{})

	deployment := &apps.Deployment{}
	deployment.Spec.Template.Spec.ResourceClaims = []core.PodResourceClaim{
		{ClusterResourceClaimTemplateName: ptr.To("template")},
	}
	roundTrip(t, deployment, &apps.Deployment{})

	template := &resourcev1alpha3.ClusterResourceClaimTemplate{}
	template.Spec.Spec.ReservedFor = claim.Spec.ReservedFor
	roundTrip(t, template, &resourcev1alpha3.ClusterResourceClaimTemplate{})
}

func roundTrip(t *testing.T, want, got any) {
	t.Helper()
	data, err := protobuf.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if err := protobuf.Unmarshal(data, got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%T (-want +got):\n%s", want, diff)
	}
}
