package api

import (
	"math/rand"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	"k8s.io/apimachinery/pkg/api/equality"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/randfill"

	"github.com/allot-dev/allot/api/scheduling/v1alpha2"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// schedulingFiller fills all fields with valid modes and references, in the form in which they are
// returned. Composite PodGroups are omitted, because each version rejects them.
func schedulingFiller(seed int64) *randfill.Filler {
	funcs := func(serializer.CodecFactory) []any {
		return []any{
			func(m *schedulingv1beta1.DisruptionMode, c randfill.Continue) {
				if *m = (schedulingv1beta1.DisruptionMode{Single: &schedulingv1beta1.SingleDisruptionMode{}}); c.Bool() {
					*m = schedulingv1beta1.DisruptionMode{All: &schedulingv1beta1.AllDisruptionMode{}}
				}
			},
			func(m *v1alpha2.DisruptionMode, c randfill.Continue) {
				if *m = v1alpha2.DisruptionModePod; c.Bool() {
					*m = v1alpha2.DisruptionModePodGroup
				}
			},
			func(r *v1alpha2.PodGroupTemplateReference, c randfill.Continue) {
				r.Workload = &v1alpha2.WorkloadPodGroupTemplateReference{}
				c.Fill(r.Workload)
			},
			fillNested[scheduling.CompositePodGroupTemplate], fillNested[v1alpha2.CompositePodGroupTemplate],
		}
	}
	codecs := serializer.NewCodecFactory(runtime.NewScheme())
	return fuzzer.FuzzerFor(fuzzer.MergeFuzzerFuncs(metafuzzer.Funcs, funcs), rand.NewSource(seed), codecs).NilChance(
		0.2,
	).NumElements(1, 3)
}

// fillNested fills a list of templates that can be nested, with one template or none.
func fillNested[T any](all *[]T, c randfill.Continue) {
	if c.Intn(3) == 0 {
		*all = make([]T, 1)
		c.Fill(&(*all)[0])
	}
}

// TestSchedulingVersionsRoundTrip checks that no field of a PodGroup or Workload is lost between
// v1alpha2 and the stored version, in both directions (R6).
func TestSchedulingVersionsRoundTrip(t *testing.T) {
	hub := schema.GroupVersion{Group: schedulingv1beta1.GroupName, Version: runtime.APIVersionInternal}
	for _, kind := range []runtime.Object{
		&v1alpha2.PodGroup{}, &v1alpha2.PodGroupList{}, &v1alpha2.Workload{}, &v1alpha2.WorkloadList{},
		&scheduling.PodGroup{}, &scheduling.PodGroupList{}, &scheduling.Workload{}, &scheduling.WorkloadList{},
	} {
		for _, version := range []string{"v1alpha2", "v1beta1"} {
			for seed := range int64(50) {
				obj := reflect.New(reflect.TypeOf(kind).Elem()).Interface().(runtime.Object)
				schedulingFiller(seed).Fill(obj)
				if back := resend(t, obj, version, hub); !equality.Semantic.DeepEqual(obj, back) {
					t.Fatalf("%T, seed %d, by way of %s (-want +got):\n%s", obj, seed, version, cmp.Diff(obj, back))
				}
			}
		}
	}
}
