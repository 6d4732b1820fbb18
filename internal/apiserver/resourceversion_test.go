package apiserver_test

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// TestResourceVersionIsNoNumber sends a resourceVersion that is not a number with each verb, and
// checks that the response is a bad request that names the field (P11).
func TestResourceVersionIsNoNumber(t *testing.T) {
	ns, client := namespace(t), clientset(t, remote(t))
	makeConfigMaps(t, client, ns, 1)
	maps := dynamicClient(t).Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace(ns)
	refused := func(verb, field string, err error) {
		if !apierrors.IsBadRequest(err) || !strings.HasPrefix(err.Error(), field+": Invalid value:") {
			t.Errorf("%s: got %v, want a bad request that names %s", verb, err, field)
		}
	}
	for _, version := range []string{"x", "-1", "1.5", "18446744073709551616"} {
		_, err := maps.Get(t.Context(), "m-00", metav1.GetOptions{ResourceVersion: version})
		refused("get", "resourceVersion", err)
		_, err = maps.List(t.Context(), metav1.ListOptions{ResourceVersion: version})
		refused("list", "resourceVersion", err)
		_, err = maps.Watch(t.Context(), metav1.ListOptions{ResourceVersion: version})
		refused("watch", "resourceVersion", err)
		err = maps.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{ResourceVersion: version})
		refused("delete collection", "resourceVersion", err)

		obj := parse(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m-00}")[0]
		obj.SetResourceVersion(version)
		_, err = maps.Update(t.Context(), obj, metav1.UpdateOptions{})
		refused("update", "metadata.resourceVersion", err)
		patch, err := obj.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		_, err = maps.Patch(t.Context(), "m-00", types.MergePatchType, patch, metav1.PatchOptions{})
		refused("patch", "metadata.resourceVersion", err)
		_, err = maps.Patch(t.Context(), "m-00", types.ApplyPatchType, patch, metav1.PatchOptions{FieldManager: "m"})
		refused("apply", "metadata.resourceVersion", err)
	}
}
