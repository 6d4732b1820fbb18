package apiserver_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"

	"github.com/allot-dev/allot/api"
	"github.com/allot-dev/allot/internal/apiserver/registry"
)

// TestVerbs sends requests with every verb for one object of each kind.
func TestVerbs(t *testing.T) {
	resources, stored := served(t), storedKinds()
	ns := namespace(t)
	tried := map[schema.GroupVersionKind]bool{}
	for _, obj := range parseFile(t, "testdata/kinds.yaml") {
		gvk := obj.GroupVersionKind()
		tried[gvk] = true
		name := strings.ReplaceAll(gvk.GroupVersion().String(), "/", ".") + "." + gvk.Kind
		t.Run(name, func(t *testing.T) {
			res, ok := resources[gvk]
			if !ok {
				t.Fatalf("discovery does not have %v", gvk)
			}
			gvr := gvk.GroupVersion().WithResource(res.Name)
			var client dynamic.ResourceInterface = dynamicClient(t).Resource(gvr)
			if res.Namespaced {
				client = dynamicClient(t).Resource(gvr).Namespace(ns)
			}
			if gvk.Kind != "IPAddress" { // its name is an address
				obj.SetName(uniqueName(obj.GetName()))
			}
			if gvk.Kind == "Event" {
				setNested(t, obj, ns, map[string]string{"": "involvedObject", "events.k8s.io": "regarding"}[gvk.Group], "namespace")
			}
			v := verbs{t: t, client: client, original: obj, resource: res, hasStatus: stored[gvk].Status != nil}
			v.runAll()
		})
	}
	for gvk := range stored {
		if !tried[gvk] {
			t.Errorf("%v is served and was not tried: testdata/kinds.yaml has no object of it", gvk)
		}
	}
}

// storedKinds returns the rules of the kinds of the table in each served version.
func storedKinds() map[schema.GroupVersionKind]registry.Rules {
	out := map[schema.GroupVersionKind]registry.Rules{}
	for _, rules := range registry.RulesByResource(api.NewScheme()) {
		for _, version := range rules.Versions {
			out[rules.Kind.GroupKind().WithVersion(version)] = rules
		}
	}
	return out
}

func setNested(t *testing.T, obj *unstructured.Unstructured, value any, path ...string) {
	t.Helper()
	if err := unstructured.SetNestedField(obj.Object, value, path...); err != nil {
		t.Fatal(err)
	}
}

func served(t *testing.T) map[schema.GroupVersionKind]metav1.APIResource {
	t.Helper()
	d, err := discovery.NewDiscoveryClientForConfig(remote(t))
	if err != nil {
		t.Fatal(err)
	}
	_, lists, err := d.ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	out := map[schema.GroupVersionKind]metav1.APIResource{}
	for _, l := range lists {
		gv, err := schema.ParseGroupVersion(l.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range l.APIResources {
			if !strings.Contains(r.Name, "/") {
				out[gv.WithKind(r.Kind)] = r
			}
		}
	}
	return out
}

// verbs sends requests with every verb for one object.
type verbs struct {
	t        *testing.T
	client   dynamic.ResourceInterface
	original *unstructured.Unstructured
	resource metav1.APIResource
	watch    watch.Interface
	// hasStatus reports whether the kind has a status subresource.
	hasStatus bool
}

func (v *verbs) runAll() {
	for _, verb := range []string{"create", "delete", "get", "list", "patch", "update", "watch"} {
		if !slices.Contains(v.resource.Verbs, verb) {
			v.t.Errorf("discovery lacks the verb %s", verb)
		}
	}
	list, err := v.client.List(v.t.Context(), metav1.ListOptions{})
	v.must("list", err)
	v.watch, err = v.client.Watch(v.t.Context(), metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
	v.must("watch", err)
	defer v.watch.Stop()
	v.create()
	v.update()
	v.patches()
	v.checkStatusUpdate()
	v.delete()
	v.deleteCollection()
}

func (v *verbs) must(what string, err error) {
	v.t.Helper()
	if err != nil {
		v.t.Fatalf("%s: %v", what, err)
	}
}

// awaitEvent waits for an event of the object.
func (v *verbs) awaitEvent(want watch.EventType) *unstructured.Unstructured {
	v.t.Helper()
	for {
		e := receiveInTime(v.t, v.watch.ResultChan())
		obj, ok := e.Object.(*unstructured.Unstructured)
		if !ok || e.Type == watch.Error {
			v.t.Fatalf("watch: %v", e)
		}
		if obj.GetName() == v.original.GetName() && e.Type == want {
			return obj
		}
	}
}

func (v *verbs) create() {
	ctx, name := v.t.Context(), v.original.GetName()
	dry, err := v.client.Create(ctx, v.original.DeepCopy(), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	v.must("dry run", err)
	if dry.GetUID() == "" {
		v.t.Error("dry run gave no UID")
	}
	if _, err := v.client.Get(ctx, name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		v.t.Fatalf("after a dry run: got %v, want not found", err)
	}
	if _, err := v.client.Create(ctx, v.original.DeepCopy(),
		metav1.CreateOptions{DryRun: []string{"Some"}}); !apierrors.IsInvalid(
		err,
	) {
		v.t.Errorf("dryRun=Some: got %v, want invalid", err)
	}
	created, err := v.client.Create(ctx, v.original.DeepCopy(), metav1.CreateOptions{})
	v.must("create", err)
	if got := created.GetAPIVersion(); got != v.original.GetAPIVersion() {
		v.t.Errorf("created in version %s", got)
	}
	v.contains(created.Object, v.original.Object, "")
	v.contains(v.awaitEvent(watch.Added).Object, v.original.Object, "")
	if v.resource.Kind == "ValidatingAdmissionPolicy" {
		v.awaitEvent(watch.Modified) // the server checks the types of its expressions, once a generation
	}
	if _, err := v.client.Create(ctx, v.original.DeepCopy(), metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		v.t.Errorf("second create: got %v, want already exists", err)
	}
}

// contains checks that got has all fields of want.
func (v *verbs) contains(got, want any, path string) {
	v.t.Helper()
	switch want := want.(type) {
	case map[string]any:
		m, _ := got.(map[string]any)
		for k, w := range want {
			if k == "stringData" || (path == "" && k == "status") {
				continue
			}
			v.contains(m[k], w, path+"."+k)
		}
	case []any:
		l, _ := got.([]any)
		if len(l) != len(want) {
			v.t.Errorf("%s has %d entries, want %d", path, len(l), len(want))
			return
		}
		for i := range want {
			v.contains(l[i], want[i], fmt.Sprintf("%s[%d]", path, i))
		}
	default:
		if fmt.Sprint(got) != fmt.Sprint(want) {
			v.t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
}

func (v *verbs) update() {
	ctx, name := v.t.Context(), v.original.GetName()
	obj, err := v.client.Get(ctx, name, metav1.GetOptions{})
	v.must("get", err)
	stale := obj.DeepCopy()
	obj.SetLabels(map[string]string{"step": "update"})
	updated, err := v.client.Update(ctx, obj, metav1.UpdateOptions{})
	v.must("update", err)
	generation := stale.GetGeneration()
	if v.resource.Kind == "EndpointSlice" {
		generation++ // it also counts changes of labels
	}
	if updated.GetResourceVersion() == stale.GetResourceVersion() || updated.GetGeneration() != generation {
		v.t.Errorf("update of a label: version %s to %s, generation %d to %d",
			stale.GetResourceVersion(), updated.GetResourceVersion(), generation, updated.GetGeneration())
	}
	stale.SetLabels(map[string]string{"step": "stale"})
	if _, err := v.client.Update(ctx, stale, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		v.t.Errorf("update of a stale object: got %v, want conflict", err)
	}
	list, err := v.client.List(ctx,
		metav1.ListOptions{LabelSelector: "step=update", FieldSelector: "metadata.name=" + name})
	v.must("list", err)
	if len(list.Items) != 1 {
		v.t.Errorf("list by label and name: %d items", len(list.Items))
	}
	if got := v.awaitEvent(watch.Modified).GetLabels()["step"]; got != "update" {
		v.t.Errorf("watch: label is %q", got)
	}
}

func (v *verbs) patches() {
	ctx, name := v.t.Context(), v.original.GetName()
	for kind, body := range map[types.PatchType]string{
		types.JSONPatchType:           `[{"op":"add","path":"/metadata/annotations","value":{"p":"json"}}]`,
		types.MergePatchType:          `{"metadata":{"annotations":{"p":"merge"}}}`,
		types.StrategicMergePatchType: `{"metadata":{"annotations":{"p":"strategic"}}}`,
	} {
		got, err := v.client.Patch(ctx, name, kind, []byte(body), metav1.PatchOptions{})
		v.must(string(kind), err)
		if p := got.GetAnnotations()["p"]; p == "" || !strings.Contains(body, `"`+p+`"`) {
			v.t.Errorf("%s: annotation is %q", kind, p)
		}
	}
	apply := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{
		"name": name, "annotations": map[string]any{"applied": "yes"},
	}}}
	apply.SetGroupVersionKind(v.original.GroupVersionKind())
	got, err := v.client.Apply(ctx, name, apply, metav1.ApplyOptions{FieldManager: "verbs"})
	v.must("apply", err)
	if got.GetAnnotations()["applied"] != "yes" {
		v.t.Error("apply changed nothing")
	}
	if !slices.ContainsFunc(
		got.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool { return e.Manager == "verbs" },
	) {
		v.t.Error("apply left no trace in managedFields")
	}
}

// checkStatusUpdate checks that an update of the status subresource does not change the spec.
func (v *verbs) checkStatusUpdate() {
	ctx, name := v.t.Context(), v.original.GetName()
	obj, err := v.client.Get(ctx, name, metav1.GetOptions{}, "status")
	if apierrors.IsNotFound(err) {
		if v.hasStatus {
			v.t.Error("no status subresource")
		}
		return
	}
	v.must("get status", err)
	spec := fmt.Sprint(obj.Object["spec"])
	obj.Object["spec"] = map[string]any{}
	got, err := v.client.UpdateStatus(ctx, obj, metav1.UpdateOptions{})
	v.must("update status", err)
	if fmt.Sprint(got.Object["spec"]) != spec {
		v.t.Errorf("update of the status changed the spec to %v", got.Object["spec"])
	}
}

// release removes the finalizers, as a controller would.
func (v *verbs) release() {
	obj, err := v.client.Get(v.t.Context(), v.original.GetName(), metav1.GetOptions{})
	if err != nil || len(obj.GetFinalizers()) == 0 {
		return
	}
	_, err = v.client.Patch(v.t.Context(), obj.GetName(), types.MergePatchType,
		[]byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	v.must("release", err)
}

func (v *verbs) delete() {
	ctx, name := v.t.Context(), v.original.GetName()
	v.must("delete, dry run", v.client.Delete(ctx, name, metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}))
	if _, err := v.client.Get(ctx, name, metav1.GetOptions{}); err != nil {
		v.t.Errorf("after a dry delete: %v", err)
	}
	wrong := types.UID("wrong")
	err := v.client.Delete(ctx, name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &wrong}})
	if !apierrors.IsConflict(err) {
		v.t.Errorf("delete of another UID: got %v, want conflict", err)
	}
	v.must("delete", v.client.Delete(ctx, name, metav1.DeleteOptions{}))
	if v.original.GetKind() == "Namespace" {
		return // its deletion has two steps, see TestNamespaceLife
	}
	v.release()
	v.awaitEvent(watch.Deleted)
	if _, err := v.client.Get(ctx, name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		v.t.Errorf("after delete: got %v, want not found", err)
	}
}

func (v *verbs) deleteCollection() {
	if v.original.GetKind() == "Namespace" {
		if slices.Contains(v.resource.Verbs, "deletecollection") {
			v.t.Error("namespaces can be deleted in bulk")
		}
		return
	}
	ctx := v.t.Context()
	suffixes := []string{"-a", "-b"}
	if v.original.GetKind() == "IPAddress" {
		suffixes = []string{"8", "9"}
	}
	for _, suffix := range suffixes {
		obj := v.original.DeepCopy()
		obj.SetName(obj.GetName() + suffix)
		obj.SetLabels(map[string]string{"bulk": "yes"})
		_, err := v.client.Create(ctx, obj, metav1.CreateOptions{})
		v.must("create", err)
	}
	v.must("delete collection",
		v.client.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "bulk=yes"}))
	list, err := v.client.List(ctx, metav1.ListOptions{LabelSelector: "bulk=yes"})
	v.must("list", err)
	for _, o := range list.Items {
		if len(o.GetFinalizers()) == 0 {
			v.t.Errorf("%s is left", o.GetName())
			continue
		}
		_, err := v.client.Patch(context.WithoutCancel(ctx), o.GetName(), types.MergePatchType,
			[]byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		v.must("release", err)
	}
}
