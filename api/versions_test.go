package api

import (
	"math/rand"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	resourcev1 "k8s.io/api/resource/v1"
	upstreamv1alpha3 "k8s.io/api/resource/v1alpha3"
	upstreamv1beta1 "k8s.io/api/resource/v1beta1"
	upstreamv1beta2 "k8s.io/api/resource/v1beta2"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	"k8s.io/apimachinery/pkg/api/equality"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/randfill"

	resource "github.com/allot-dev/allot/api/resource/v1"
	resourcev1beta1 "github.com/allot-dev/allot/api/resource/v1beta1"
	resourcev1beta2 "github.com/allot-dev/allot/api/resource/v1beta2"
)

// filler fills all fields such that both versions can represent the object: a request has exactly
// one form, and flags of slices are set or absent.
func filler(seed int64) *randfill.Filler {
	funcs := func(serializer.CodecFactory) []any {
		return []any{
			func(q *apiresource.Quantity, c randfill.Continue) {
				*q = *apiresource.NewQuantity(c.Int63n(1000), apiresource.DecimalSI)
			},
			func(e *runtime.RawExtension, _ randfill.Continue) { e.Raw = []byte(`{"a":1}`) },
			func(r *resourcev1.DeviceRequest, c randfill.Continue) {
				c.FillNoCustom(r)
				if r.Exactly != nil {
					r.Exactly.DeviceClassName, r.FirstAvailable = "class", nil
				}
			},
			func(r *upstreamv1beta1.DeviceRequest, c randfill.Continue) {
				c.FillNoCustom(r)
				if r.DeviceClassName = "class"; c.Bool() {
					*r = upstreamv1beta1.DeviceRequest{Name: r.Name, FirstAvailable: r.FirstAvailable}
				}
			},
			func(d *upstreamv1beta1.Device, c randfill.Continue) {
				c.FillNoCustom(d)
				if d.Basic == nil {
					d.Basic = &upstreamv1beta1.BasicDevice{}
				}
			},
			func(s *resourcev1.ResourceSliceSpec, c randfill.Continue) {
				c.FillNoCustom(s)
				if s.NodeName != nil && *s.NodeName == "" {
					s.NodeName = nil
				}
				if s.AllNodes != nil && !*s.AllNodes {
					s.AllNodes = nil
				}
			},
		}
	}
	codecs := serializer.NewCodecFactory(runtime.NewScheme())
	return fuzzer.FuzzerFor(fuzzer.MergeFuzzerFuncs(metafuzzer.Funcs, funcs), rand.NewSource(seed), codecs).NilChance(
		0.2,
	).NumElements(1, 3)
}

func v1beta1Kinds() []runtime.Object {
	return []runtime.Object{
		&resourcev1beta1.ResourceClaim{}, &resourcev1beta1.ResourceClaimList{},
		&resourcev1beta1.ResourceClaimTemplate{}, &resourcev1beta1.ResourceClaimTemplateList{},
		&upstreamv1beta1.DeviceClass{}, &upstreamv1beta1.DeviceClassList{},
		&upstreamv1beta1.ResourceSlice{}, &upstreamv1beta1.ResourceSliceList{},
	}
}

func v1beta2Kinds() []runtime.Object {
	return []runtime.Object{
		&resourcev1beta2.ResourceClaim{}, &resourcev1beta2.ResourceClaimList{},
		&resourcev1beta2.ResourceClaimTemplate{}, &resourcev1beta2.ResourceClaimTemplateList{},
		&upstreamv1beta2.DeviceClass{}, &upstreamv1beta2.DeviceClassList{},
		&upstreamv1beta2.ResourceSlice{}, &upstreamv1beta2.ResourceSliceList{},
		&resourcev1.DeviceTaintRule{}, &resourcev1.DeviceTaintRuleList{},
	}
}

// TestResourceVersionsRoundTrip converts filled objects from the hub to each version and back, and
// from each version to the hub and back, through their encoded form.
func TestResourceVersionsRoundTrip(t *testing.T) {
	hub := schema.GroupVersion{Group: resourcev1.GroupName, Version: runtime.APIVersionInternal}
	versions := map[string][]runtime.Object{"v1": resourceKinds(), "v1beta1": v1beta1Kinds(), "v1beta2": v1beta2Kinds()}
	for version, kinds := range versions {
		for i, kind := range kinds {
			for seed := range int64(30) {
				obj := reflect.New(reflect.TypeOf(kind).Elem()).Interface().(runtime.Object)
				filler(seed).Fill(obj)
				if back := resend(t, obj, version, hub); !equality.Semantic.DeepEqual(obj, back) {
					t.Fatalf("%s %T, seed %d, by way of the hub (-want +got):\n%s", version, obj, seed, cmp.Diff(obj, back))
				}
				stored := reflect.New(reflect.TypeOf(resourceKinds()[i]).Elem()).Interface().(runtime.Object)
				filler(seed).Fill(stored)
				if back := resend(t, stored, version, hub); !equality.Semantic.DeepEqual(stored, back) {
					t.Fatalf("%T, seed %d, by way of %s (-want +got):\n%s", stored, seed, version, cmp.Diff(stored, back))
				}
			}
		}
	}
}

// resend encodes obj in a version, in both encodings, decodes it as a client of the version and as
// the server, and returns it in its original form.
func resend(t *testing.T, obj runtime.Object, version string, hub schema.GroupVersion) runtime.Object {
	t.Helper()
	gv := schema.GroupVersion{Group: hub.Group, Version: version}
	var last runtime.Object
	for _, info := range Codecs.SupportedMediaTypes() {
		if info.MediaType == runtime.ContentTypeYAML || info.MediaType == runtime.ContentTypeCBOR {
			continue
		}
		data, err := runtime.Encode(Codecs.EncoderForVersion(info.Serializer, gv), obj.DeepCopyObject())
		if err != nil {
			t.Fatal(err)
		}
		read, err := runtime.Decode(Codecs.DecoderToVersion(info.Serializer, hub), data)
		if err != nil {
			t.Fatal(err)
		}
		back := read
		if reflect.TypeOf(obj) != reflect.TypeOf(read) {
			back = reflect.New(reflect.TypeOf(obj).Elem()).Interface().(runtime.Object)
			if err := Scheme.Convert(read, back, nil); err != nil {
				t.Fatal(err)
			}
		}
		back.GetObjectKind().SetGroupVersionKind(obj.GetObjectKind().GroupVersionKind())
		if last != nil && !equality.Semantic.DeepEqual(last, back) {
			t.Fatalf("%T as %s (-%s +JSON):\n%s", obj, info.MediaType, info.MediaType, cmp.Diff(last, back))
		}
		last = back
	}
	return last
}

// TestDeviceTaintRuleHasOneForm checks that all versions have the same form, because v1's type is
// used for the rules of all versions.
func TestDeviceTaintRuleHasOneForm(t *testing.T) {
	for _, pair := range [][2]any{
		{resourcev1.DeviceTaintRule{}, upstreamv1beta2.DeviceTaintRule{}},
		{resourcev1.DeviceTaintRule{}, upstreamv1alpha3.DeviceTaintRule{}},
	} {
		sameForm(t, reflect.TypeOf(pair[0]), reflect.TypeOf(pair[1]), reflect.TypeOf(pair[1]).String())
	}
}

// sameForm compares the fields of two structs by their encoded form, recursively.
func sameForm(t *testing.T, a, b reflect.Type, path string) {
	t.Helper()
	if a == b {
		return
	}
	if a.Kind() != b.Kind() {
		t.Errorf("%s: %s and %s", path, a, b)
		return
	}
	switch a.Kind() {
	case reflect.Struct:
		want, got := formOf(a), formOf(b)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-v1):\n%s", path, diff)
			return
		}
		for field := range a.Fields() {
			if f, ok := b.FieldByName(field.Name); ok {
				sameForm(t, field.Type, f.Type, path+"."+f.Name)
			}
		}
	case reflect.Pointer, reflect.Slice:
		sameForm(t, a.Elem(), b.Elem(), path)
	case reflect.Map:
		sameForm(t, a.Key(), b.Key(), path)
		sameForm(t, a.Elem(), b.Elem(), path)
	}
}

func formOf(s reflect.Type) []string {
	var out []string
	for f := range s.Fields() {
		wire := strings.Join(slices.DeleteFunc(strings.Split(f.Tag.Get("protobuf"), ","), func(part string) bool {
			return part == "opt" || part == "rep" // these do not change the encoding
		}), ",")
		out = append(out, f.Name+" json:"+f.Tag.Get("json")+" protobuf:"+wire)
	}
	slices.Sort(out)
	return out
}

// TestAddedFieldsOfClaimsInEveryVersion converts KEP-5194's fields to each version and back.
func TestAddedFieldsOfClaimsInEveryVersion(t *testing.T) {
	for _, version := range []string{"v1", "v1beta1", "v1beta2"} {
		obj := decode(t, `{"apiVersion":"resource.k8s.io/`+version+`","kind":"ResourceClaim","metadata":{"name":"c"},
			"spec":{"devices":{},"reservedFor":{"resource":"jobs","name":"j","uid":"1"}},"status":{"allocation":{"reservedForAnyPod":true}}}`)
		hub, err := Scheme.ConvertToVersion(obj,
			schema.GroupVersion{Group: resourcev1.GroupName, Version: runtime.APIVersionInternal})
		if err != nil {
			t.Fatal(err)
		}
		c := hub.(*resource.ResourceClaim)
		if c.Spec.ReservedFor == nil || c.Spec.ReservedFor.Name != "j" || c.Status.Allocation.ReservedForAnyPod == nil {
			t.Errorf("%s: reservedFor %v, allocation %v", version, c.Spec.ReservedFor, c.Status.Allocation)
		}
	}
}
