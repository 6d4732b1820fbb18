package apiserver_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"github.com/allot-dev/allot/internal/apiserver"
)

const earlyCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: soons.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {kind: Soon, plural: soons, singular: soon}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
`

// TestListByWatchOfAQuietKind lists a custom resource immediately after it is defined, while the
// definition's names are being accepted and its first watch cache is discarded. Informers of other
// kinds that do not change must get their first list too.
func TestListByWatchOfAQuietKind(t *testing.T) {
	s := startServer(t, apiserver.Config{DataDir: t.TempDir(), UnsafeNoFsync: true})
	typed := clientset(t, s.Loopback())
	dynamics, err := dynamic.NewForConfig(s.Loopback())
	if err != nil {
		t.Fatal(err)
	}
	crds := schema.GroupVersionResource{
		Group:    "apiextensions.k8s.io",
		Version:  "v1",
		Resource: "customresourcedefinitions",
	}
	if _, err := dynamics.Resource(crds).Create(t.Context(), parse(t, earlyCRD)[0], metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "served", func() bool {
		_, err := dynamics.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "soons"}).List(
			t.Context(),
			metav1.ListOptions{},
		)
		return err == nil
	})
	for range 3 {
		began := time.Now()
		w, err := typed.CoreV1().PersistentVolumes().Watch(t.Context(), metav1.ListOptions{
			SendInitialEvents:    new(true),
			ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, AllowWatchBookmarks: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		if first := receiveInTime(t, w.ResultChan()); first.Type != watch.Bookmark {
			t.Errorf("got %s after %s, want a bookmark: %v", first.Type, time.Since(began), first.Object)
		}
		w.Stop()
	}
}
