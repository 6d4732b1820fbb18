package protobuf

import (
	"math/rand"
	"reflect"
	"strings"
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
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/randfill"
)

// generated is an upstream kind, with generated code that is the reference.
type generated interface {
	Message
	Marshal() ([]byte, error)
	MarshalTo(data []byte) (int, error)
}

// kinds are the upstream kinds of the delta types: the same structs without the added fields.
func kinds() []generated {
	return []generated{
		&corev1.Pod{}, &corev1.PodList{}, &corev1.Secret{}, &appsv1.Deployment{}, &resourcev1.ResourceClaim{},
		&resourcev1.ResourceSlice{}, &schedulingv1beta1.PodGroup{}, &schedulingv1beta1.Workload{},
		&metav1.APIResource{},
	}
}

func emptyOf(m generated) generated {
	return reflect.New(reflect.TypeOf(m).Elem()).Interface().(generated)
}

// walkers are plans for upstream's own types, so that the result can be compared with that of their
// generated code.
func walkers() map[string]*codec {
	spine := map[string]bool{
		"Pod": true, "PodList": true, "PodSpec": true, "PodResourceClaim": true, "PodTemplateSpec": true,
		"Deployment": true, "DeploymentSpec": true, "ResourceClaim": true, "ResourceClaimSpec": true,
		"ResourceClaimStatus": true, "AllocationResult": true, "PodGroup": true, "PodGroupSpec": true,
		"PodGroupResourceClaim": true, "Workload": true, "WorkloadSpec": true, "PodGroupTemplate": true,
	}
	handWritten := map[reflect.Type]bool{
		reflect.TypeFor[metav1.Time](): true, reflect.TypeFor[metav1.MicroTime](): true,
		reflect.TypeFor[resource.Quantity](): true,
	}
	return map[string]*codec{
		"spine":      {walks: func(t reflect.Type) bool { return spine[t.Name()] && t.Kind() == reflect.Struct }},
		"everything": {walks: func(t reflect.Type) bool { return !handWritten[t] }},
	}
}

// filler returns a filler with the values of upstream's round-trip tests, and sometimes longer
// lists.
func filler(seed int64) *randfill.Filler {
	codecs := serializer.NewCodecFactory(runtime.NewScheme())
	f := fuzzer.FuzzerFor(fuzzer.MergeFuzzerFuncs(metafuzzer.Funcs, extremes), rand.NewSource(seed), codecs)
	return f.NilChance(0.4).NumElements(0, 1+int(seed%3))
}

// extremes are fill functions for values that JSON cannot represent, which upstream's functions
// avoid.
func extremes(serializer.CodecFactory) []any {
	return []any{
		func(i *int32, c randfill.Continue) { *i = int32(c.Uint64()) >> c.Intn(31) },
		func(i *int64, c randfill.Continue) { *i = int64(c.Uint64()) >> c.Intn(63) },
		func(s *string, c randfill.Continue) { *s = strings.Repeat("ß", c.Intn(3)*c.Intn(60)) },
		func(r *runtime.RawExtension, c randfill.Continue) { c.Fill(&r.Raw) },
		func(v *intstr.IntOrString, c randfill.Continue) {
			*v = intstr.FromInt32(c.Int31())
			if c.Bool() {
				*v = intstr.FromString(c.String(0))
			}
		},
	}
}

func TestFillerReachesAddedFields(t *testing.T) {
	seen := map[string]bool{}
	for seed := range int64(40) {
		pod := &corev1.Pod{}
		filler(seed).Fill(pod)
		for _, c := range pod.Spec.ResourceClaims {
			seen["claim"] = seen["claim"] || c.ResourceClaimName != nil
		}
		seen["overhead"] = seen["overhead"] || len(pod.Spec.Overhead) > 1
	}
	if !seen["claim"] || !seen["overhead"] {
		t.Errorf("40 random pods have reached only %v", seen)
	}
}
