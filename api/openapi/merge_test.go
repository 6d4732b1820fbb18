package openapi

import (
	"fmt"
	"math/rand"
	"reflect"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	"k8s.io/apimachinery/pkg/api/resource"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/randfill"

	"github.com/allot-dev/allot/api"
)

// filler returns a filler that sets most fields. List items get unique names, because two items
// with the same key are an error.
func filler(seed int64) *randfill.Filler {
	unique := 0
	own := func(serializer.CodecFactory) []any {
		return []any{
			func(s *string, _ randfill.Continue) { unique++; *s = fmt.Sprintf("text-%d", unique) },
			func(u *types.UID, _ randfill.Continue) { unique++; *u = types.UID(fmt.Sprintf("uid-%d", unique)) },
			func(i *int32, _ randfill.Continue) { unique++; *i = int32(unique) },
			func(v *intstr.IntOrString, _ randfill.Continue) { *v = intstr.FromString("port") },
			func(q *resource.Quantity, c randfill.Continue) {
				*q = *resource.NewQuantity(c.Int63n(100), resource.DecimalSI)
			},
			func(r *runtime.RawExtension, _ randfill.Continue) { r.Raw = []byte(`{"kind":"Any"}`) },
			func(all *[]schedulingv1beta1.CompositePodGroupTemplate, c randfill.Continue) {
				if c.Intn(3) == 0 { // PodGroupTemplates can be nested
					*all = make([]schedulingv1beta1.CompositePodGroupTemplate, 1)
					c.Fill(&(*all)[0])
				}
			},
			func(f *metav1.FieldsV1, _ randfill.Continue) { f.SetRawBytes([]byte(`{}`)) },
		}
	}
	codecs := serializer.NewCodecFactory(runtime.NewScheme())
	f := fuzzer.FuzzerFor(fuzzer.MergeFuzzerFuncs(metafuzzer.Funcs, own), rand.NewSource(seed), codecs)
	return f.NilChance(0.15).NumElements(1, 2).MaxDepth(40)
}

// converter returns the converter of server-side apply for allot's definitions.
func converter(t *testing.T) managedfields.TypeConverter {
	t.Helper()
	name := Namer(api.Scheme)
	models := map[string]*spec.Schema{}
	for model, d := range Definitions(func(model string) spec.Ref {
		return spec.MustCreateRef("#/components/schemas/" + model)
	}) {
		_, extensions := name(model)
		for key, value := range extensions {
			d.Schema.AddExtension(key, value)
		}
		models[model] = &d.Schema
	}
	c, err := managedfields.NewTypeConverter(models, false)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestOwnershipIsThatOfClientGo checks that server-side apply splits an object into the same owned
// fields by allot's definitions as by the schema in client-go: list types and keys, map and struct
// types, at all levels.
func TestOwnershipIsThatOfClientGo(t *testing.T) {
	want, got := applyconfigurations.NewTypeConverter(clientscheme.Scheme), converter(t)
	for gvk, sample := range map[schema.GroupVersionKind]runtime.Object{
		corev1.SchemeGroupVersion.WithKind("Pod"):                 &corev1.Pod{},
		corev1.SchemeGroupVersion.WithKind("Node"):                &corev1.Node{},
		appsv1.SchemeGroupVersion.WithKind("Deployment"):          &appsv1.Deployment{},
		appsv1.SchemeGroupVersion.WithKind("ReplicaSet"):          &appsv1.ReplicaSet{},
		resourcev1.SchemeGroupVersion.WithKind("ResourceClaim"):   &resourcev1.ResourceClaim{},
		resourcev1.SchemeGroupVersion.WithKind("ResourceSlice"):   &resourcev1.ResourceSlice{},
		resourcev1.SchemeGroupVersion.WithKind("DeviceClass"):     &resourcev1.DeviceClass{},
		schedulingv1beta1.SchemeGroupVersion.WithKind("PodGroup"): &schedulingv1beta1.PodGroup{},
		schedulingv1beta1.SchemeGroupVersion.WithKind("Workload"): &schedulingv1beta1.Workload{},
		corev1.SchemeGroupVersion.WithKind("ServiceAccount"):      &corev1.ServiceAccount{},
	} {
		t.Run(gvk.Kind, func(t *testing.T) {
			for seed := range int64(8) {
				obj := reflect.New(reflect.TypeOf(sample).Elem()).Interface().(runtime.Object)
				filler(seed).Fill(obj)
				obj.GetObjectKind().SetGroupVersionKind(gvk)
				compareOwnership(t, want, got, obj)
			}
		})
	}
}

func compareOwnership(t *testing.T, want, got managedfields.TypeConverter, obj runtime.Object) {
	t.Helper()
	byClientGo, err := want.ObjectToTyped(obj)
	if err != nil {
		t.Fatalf("client-go: %v", err)
	}
	byOurs, err := got.ObjectToTyped(obj)
	if err != nil {
		t.Fatalf("ours: %v", err)
	}
	a, err := byClientGo.ToFieldSet()
	if err != nil {
		t.Fatal(err)
	}
	b, err := byOurs.ToFieldSet()
	if err != nil {
		t.Fatal(err)
	}
	if !a.Equals(b) {
		t.Errorf("only by client-go:\n%s\nonly by ours:\n%s", a.Difference(b), b.Difference(a))
	}
	if a.Size() < 10 {
		t.Errorf("only %d fields compared", a.Size())
	}
}
