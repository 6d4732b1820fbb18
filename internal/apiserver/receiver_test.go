package apiserver_test

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/allot-dev/allot/internal/client"
)

// TestEventsAsObjects compares the caches of a client in the server's process, whose watches have
// objects as their events, with those of a client that decodes them from a connection: for each
// kind that parts of allot use, after objects were created, changed and deleted.
func TestEventsAsObjects(t *testing.T) {
	near, far := everyCache(t, shared.Loopback()), everyCache(t, remote(t))
	resources, ns := served(t), namespace(t)
	names := map[string][]string{} // names of objects, by resource
	for _, obj := range parseFile(t, "testdata/kinds.yaml") {
		gvk := obj.GroupVersionKind()
		resource := gvk.GroupVersion().WithResource(resources[gvk].Name)
		if near[resource.Resource] == nil {
			continue // no part has a cache of them
		}
		obj.SetName(uniqueName(obj.GetName()))
		var objects dynamic.ResourceInterface = dynamicClient(t).Resource(resource)
		if resources[gvk].Namespaced {
			objects = dynamicClient(t).Resource(resource).Namespace(ns)
		}
		made, err := objects.Create(t.Context(), obj, metav1.CreateOptions{})
		if err != nil {
			t.Fatalf("create %s: %v", gvk, err)
		}
		if resource.Resource == "resourceclaimtemplates" {
			if err := objects.Delete(t.Context(), obj.GetName(), metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			continue
		}
		names[resource.Resource] = append(names[resource.Resource], made.GetNamespace()+"/"+made.GetName())
		if _, err := objects.Patch(t.Context(), obj.GetName(), types.MergePatchType,
			[]byte(`{"metadata":{"labels":{"changed":"yes"}}}`), metav1.PatchOptions{}); err != nil {
			t.Fatalf("change %s: %v", gvk, err)
		}
		t.Cleanup(func() {
			_ = objects.Delete(context.Background(), obj.GetName(), metav1.DeleteOptions{}) // other tests list all
		})
	}
	if len(names) < 20 {
		t.Errorf("objects of %d kinds were created, want at least 20", len(names))
	}
	for resource, one := range near {
		if diff := awaitEqual(one, far[resource], names[resource]); diff != "" {
			t.Errorf("%s: objects of the client in the process (+) and of the other (-):\n%s", resource, diff)
		}
	}
}

// everyCache returns, for each resource with a cache, a function that returns the cached objects by
// name.
func everyCache(t *testing.T, cfg *rest.Config) map[string]func() map[string]any {
	t.Helper()
	set, err := client.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	caches := client.NewInformers(set)
	out := map[string]func() map[string]any{}
	all := reflect.ValueOf(caches)
	for i := range all.NumMethod() {
		method := all.Type().Method(i)
		if method.Type.NumIn() != 1 || method.Type.NumOut() != 1 {
			continue
		}
		if _, ok := method.Type.Out(0).MethodByName("ByIndex"); !ok {
			continue
		}
		list := all.Method(i).Call(nil)[0].MethodByName("List")
		out[strings.ToLower(method.Name)] = func() map[string]any { return byName(list.Call(nil)[0]) }
	}
	ctx, cancel := context.WithCancel(t.Context())
	caches.Start(ctx)
	t.Cleanup(func() { cancel(); caches.Wait() })
	if err := caches.WaitForSync(ctx); err != nil {
		t.Fatal(err)
	}
	return out
}

func byName(list reflect.Value) map[string]any {
	out := map[string]any{}
	for i := range list.Len() {
		obj := list.Index(i).Interface().(client.Object)
		out[obj.GetNamespace()+"/"+obj.GetName()] = obj
	}
	return out
}

// awaitEqual waits until two caches are equal for these objects, and returns the difference if they
// are not in time. The version and kind of nested objects are not compared: protobuf does not have
// them.
func awaitEqual(near, far func() map[string]any, names []string) string {
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		have := near()
		diff := cmp.Diff(far(), have, cmp.Exporter(func(reflect.Type) bool { return true }),
			cmpopts.IgnoreTypes(metav1.TypeMeta{}))
		for _, name := range names {
			if have[name] == nil {
				diff += "missing: " + name
			}
		}
		for name, obj := range have {
			if kind := obj.(client.Object).GetObjectKind().GroupVersionKind(); !kind.Empty() {
				diff += name + " has the kind " + kind.String()
			}
		}
		if diff == "" || time.Now().After(deadline) {
			return diff
		}
	}
}
