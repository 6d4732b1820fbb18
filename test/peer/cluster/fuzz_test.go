package cluster

import (
	"context"
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	apitesting "k8s.io/kubernetes/pkg/api/testing" // installs all types, too
	"sigs.k8s.io/randfill"
)

// stored are the kinds to make up, the versions in which they are stored, and the keys below which
// they are.
var stored = []struct {
	kind schema.GroupVersionKind
	key  string
}{
	{schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, "pods"},
	{schema.GroupVersionKind{Version: "v1", Kind: "Node"}, "minions"},
	{schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, "deployments"},
	{schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"}, "statefulsets"},
	{schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}, "jobs"},
	{schema.GroupVersionKind{Group: "scheduling.k8s.io", Version: "v1beta1", Kind: "PodGroup"}, "podgroups"},
	{schema.GroupVersionKind{Group: "scheduling.k8s.io", Version: "v1alpha3", Kind: "PodGroup"}, "podgroups"},
	{schema.GroupVersionKind{Group: "scheduling.k8s.io", Version: "v1beta1", Kind: "Workload"}, "workloads"},
	{schema.GroupVersionKind{Group: "resource.k8s.io", Version: "v1", Kind: "ResourceClaim"}, "resourceclaims"},
	{schema.GroupVersionKind{Group: "resource.k8s.io", Version: "v1beta1", Kind: "ResourceClaim"}, "resourceclaims"},
	{schema.GroupVersionKind{Group: "resource.k8s.io", Version: "v1beta2", Kind: "ResourceClaim"}, "resourceclaims"},
	{
		schema.GroupVersionKind{Group: "resource.k8s.io", Version: "v1", Kind: "ResourceClaimTemplate"},
		"resourceclaimtemplates",
	},
	{
		schema.GroupVersionKind{Group: "resource.k8s.io", Version: "v1beta1", Kind: "ResourceClaimTemplate"},
		"resourceclaimtemplates",
	},
	{schema.GroupVersionKind{Group: "resource.k8s.io", Version: "v1", Kind: "DeviceClass"}, "deviceclasses"},
	{schema.GroupVersionKind{Group: "resource.k8s.io", Version: "v1", Kind: "ResourceSlice"}, "resourceslices"},
	{schema.GroupVersionKind{Group: "resource.k8s.io", Version: "v1beta1", Kind: "ResourceSlice"}, "resourceslices"},
	{schema.GroupVersionKind{Group: "resource.k8s.io", Version: "v1alpha3", Kind: "DeviceTaintRule"}, "devicetaintrules"},
	{
		schema.GroupVersionKind{Group: "resource.k8s.io", Version: "v1alpha3", Kind: "ResourcePoolStatusRequest"},
		"resourcepoolstatusrequests",
	},
}

// TestFuzzedObjects: whatever Kubernetes has stored, with any fields set and in any version that it
// ever stored, both servers say the same of it in each version (R46). The objects are put into etcd
// as Kubernetes' codecs write them, since validation would refuse most of them.
func TestFuzzedObjects(t *testing.T) {
	const each = 30
	k, beside := startBoth(t)
	theirs, ours := newReader(t, k.Config), newReader(t, beside)
	shared := theirs.common(ours)
	fill := fuzzer.FuzzerFor(apitesting.FuzzerFuncs, rand.NewSource(1), legacyscheme.Codecs)
	for _, s := range stored {
		t.Run(fmt.Sprintf("%s %s", s.kind.GroupVersion(), s.kind.Kind), func(t *testing.T) {
			names, size := map[string]string{}, 0 // namespaces by names
			for i := range each {
				name := strings.ToLower(fmt.Sprintf("fuzz-%s-%s-%d", s.kind.Version, s.kind.Kind, i))
				obj, err := madeUp(fill, s.kind, name)
				if err != nil {
					t.Fatal(err)
				}
				key := "/registry/" + s.key + "/"
				if obj.GetNamespace() != "" {
					key += obj.GetNamespace() + "/"
				}
				bytes, err := runtime.Encode(storageCodec(t, s.kind.GroupVersion()), obj.(runtime.Object))
				if err != nil {
					t.Fatal(err)
				}
				if _, err := k.Etcd.Client().Put(t.Context(), key+name, string(bytes)); err != nil {
					t.Fatal(err)
				}
				names[name] = obj.GetNamespace()
				size += len(bytes)
			}
			t.Logf("%d bytes each", size/each)
			for kind, resource := range shared {
				if kind.Group != s.kind.Group || kind.Kind != s.kind.Kind {
					continue
				}
				for name, namespace := range names {
					sameAnswer(t, theirs, ours, resource, namespace, name)
				}
			}
		})
	}
}

// madeUp is an object with random fields.
func madeUp(fill *randfill.Filler, kind schema.GroupVersionKind, name string) (metav1.Object, error) {
	obj, err := legacyscheme.Scheme.New(
		schema.GroupVersion{Group: kind.Group, Version: runtime.APIVersionInternal}.WithKind(kind.Kind),
	)
	if err != nil {
		return nil, err
	}
	fill.Fill(obj)
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	m.SetName(name)
	m.SetNamespace("")
	if namespaced(kind.Kind) {
		m.SetNamespace("default")
	}
	m.SetUID(types.UID(name))
	m.SetResourceVersion("")
	m.SetSelfLink("")
	return m, nil
}

func namespaced(kind string) bool {
	switch kind {
	case "Node", "DeviceClass", "ResourceSlice", "DeviceTaintRule", "ResourcePoolStatusRequest":
		return false
	}
	return true
}

// storageCodec encodes as an API server does that stores a version.
func storageCodec(t *testing.T, version schema.GroupVersion) runtime.Codec {
	t.Helper()
	info, ok := runtime.SerializerInfoForMediaType(legacyscheme.Codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	if !ok {
		t.Fatal("there is no protobuf")
	}
	return legacyscheme.Codecs.CodecForVersions(info.Serializer, info.Serializer, version, nil)
}

// sameAnswer asks both servers for an object.
func sameAnswer(t *testing.T, theirs, ours *reader, resource schema.GroupVersionResource, namespace, name string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	want, err := theirs.client.Resource(resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		t.Errorf("Kubernetes: %v", err)
		return
	}
	got, err := ours.client.Resource(resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		t.Errorf("allot: %v", err)
		return
	}
	if want.GetKind() == "Node" { // Kubernetes lets podCIDR decide where podCIDRs contradicts it, which it lets nobody write
		unstructured.RemoveNestedField(want.Object, "spec", "podCIDRs")
		unstructured.RemoveNestedField(got.Object, "spec", "podCIDRs")
	}
	if diff := cmp.Diff(want.Object, got.Object); diff != "" {
		t.Errorf("%s of %s (-Kubernetes +allot):\n%s", name, resource.GroupVersion(), diff)
	}
}
