package cluster

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// everything is what the server has to serve so that each version can be written and read.
var everything = []string{"resource.k8s.io/v1beta1", "resource.k8s.io/v1beta2", "resource.k8s.io/v1alpha3"}

// TestOneEtcd: allot's API server works on the etcd of Kubernetes' one, and that on what allot's
// has written (R46). Both serve the same objects, in each version that both have.
func TestOneEtcd(t *testing.T) {
	k, beside := startBoth(t)
	for _, name := range []string{"objects.yaml", "status.yaml"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		args := []string{"create", "-f", "-"}
		if name == "status.yaml" {
			args = []string{"apply", "--server-side", "--force-conflicts", "--subresource=status", "-f", "-"}
		}
		k.kubectl(t, string(text), args...)
	}
	t.Run("the client loses nothing", func(t *testing.T) { clientLosesNothing(t, k) })
	theirs, ours := newReader(t, k.Config), newReader(t, beside)
	shared := theirs.common(ours)
	if len(shared) < 20 {
		t.Fatalf("both serve %v, which is too little", shared)
	}
	want, got := theirs.all(t, shared), ours.all(t, shared)
	compare(t, want, got)

	// What allot's server writes, Kubernetes' one reads.
	for _, name := range slices.Sorted(maps.Keys(want)) {
		obj := want[name]
		if obj.GetAnnotations()["peer"] == "" {
			continue // not from this test
		}
		patch := []byte(`{"metadata": {"annotations": {"peer": "written back"}}}`)
		gvr := shared[obj.GroupVersionKind()]
		if _, err := ours.client.Resource(gvr).Namespace(obj.GetNamespace()).Patch(t.Context(), obj.GetName(),
			types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	after, written := theirs.all(t, shared), 0
	for name, obj := range want {
		now := after[name]
		if obj.GetAnnotations()["peer"] == "" || now == nil {
			continue
		}
		if now.GetAnnotations()["peer"] != "written back" {
			t.Errorf("%s: %v", name, now.GetAnnotations())
		}
		written++
		if diff := cmp.Diff(content(obj), content(now)); diff != "" {
			t.Errorf("%s was changed by being written back (-before +after):\n%s", name, diff)
		}
	}
	if written < 20 {
		t.Errorf("%d objects were written back, which is too little", written)
	}
}

// startBoth starts Kubernetes' API server, and allot's on the same etcd.
func startBoth(t *testing.T) (*Kubernetes, *rest.Config) {
	t.Helper()
	k, err := StartKubernetes(t.Context(), Options{Dir: t.TempDir(), Groups: true, Versions: everything, ServerOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := k.Stop(); err != nil {
			t.Error(err)
		}
	})
	allot, beside, err := k.StartBeside(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := allot.Stop(); err != nil {
			t.Error(err)
		}
	})
	return k, beside
}

// reader reads all that a server has.
type reader struct {
	client    *dynamic.DynamicClient
	resources map[schema.GroupVersionKind]schema.GroupVersionResource
}

func newReader(t *testing.T, cfg *rest.Config) *reader {
	t.Helper()
	r := &reader{resources: map[schema.GroupVersionKind]schema.GroupVersionResource{}}
	var err error
	if r.client, err = dynamic.NewForConfig(cfg); err != nil {
		t.Fatal(err)
	}
	d, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	_, lists, err := d.ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for i := range list.APIResources {
			if res := &list.APIResources[i]; slices.Contains(res.Verbs, "list") && !strings.Contains(res.Name, "/") {
				r.resources[gv.WithKind(res.Kind)] = gv.WithResource(res.Name)
			}
		}
	}
	return r
}

// common are the resources that both serve, in all versions.
func (r *reader) common(other *reader) map[schema.GroupVersionKind]schema.GroupVersionResource {
	out := map[schema.GroupVersionKind]schema.GroupVersionResource{}
	for kind, resource := range r.resources {
		if other.resources[kind] == resource {
			out[kind] = resource
		}
	}
	return out
}

// all reads the objects of some resources.
func (r *reader) all(
	t *testing.T, resources map[schema.GroupVersionKind]schema.GroupVersionResource,
) map[string]*unstructured.Unstructured {
	t.Helper()
	out := map[string]*unstructured.Unstructured{}
	for kind, resource := range resources {
		list, err := r.client.Resource(resource).List(context.WithoutCancel(t.Context()), metav1.ListOptions{})
		if err != nil {
			t.Errorf("list %s: %v", resource, err)
			continue
		}
		for i := range list.Items {
			obj := &list.Items[i]
			obj.SetGroupVersionKind(kind)
			out[fmt.Sprintf("%s %s/%s", resource, obj.GetNamespace(), obj.GetName())] = obj
		}
	}
	return out
}

// compare compares what two servers say of the same objects.
func compare(t *testing.T, want, got map[string]*unstructured.Unstructured) {
	t.Helper()
	same := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		resource, _, _ := strings.Cut(name, " ")
		obj := got[name]
		switch {
		case obj == nil:
			t.Errorf("allot's server has no %s", name)
		case obj.GetResourceVersion() != want[name].GetResourceVersion():
			// It was written between the two answers.
		default:
			if diff := cmp.Diff(want[name].Object, obj.Object); diff != "" {
				t.Errorf("%s (-Kubernetes +allot):\n%s", name, diff)
			}
			same[resource]++
		}
	}
	for _, resource := range slices.Sorted(maps.Keys(same)) {
		t.Logf("%4d × %s", same[resource], resource)
	}
}

// content is an object without what each write changes.
func content(obj *unstructured.Unstructured) map[string]any {
	out := obj.DeepCopy()
	unstructured.RemoveNestedField(out.Object, "metadata", "resourceVersion")
	unstructured.RemoveNestedField(out.Object, "metadata", "managedFields")
	unstructured.RemoveNestedField(out.Object, "metadata", "annotations", "peer")
	if obj.GetKind() == "Deployment" { // a change of its annotations counts as one of its spec
		unstructured.RemoveNestedField(out.Object, "metadata", "generation")
	}
	return out.Object
}
