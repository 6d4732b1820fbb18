package apiserver_test

import (
	"flag"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/allot-dev/allot/internal/apiserver"
)

// collection is the size of the collection of TestLargeCollectionIsDeletedInFull. P26 is about tens
// of thousands.
var collection = flag.Int("collection", 200, "objects of a large collection")

// TestLargeCollectionIsDeletedInFull deletes a collection with a timeout that any other request
// would exceed (P26), and checks that all objects are deleted.
func TestLargeCollectionIsDeletedInFull(t *testing.T) {
	const tooShort, writers = "1ns", 16
	s := startServer(t, apiserver.Config{DataDir: t.TempDir(), UnsafeNoFsync: true})
	config := rest.CopyConfig(s.Loopback())
	config.QPS = -1
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	pods := clients.CoreV1().Pods(metav1.NamespaceDefault)
	began := time.Now()
	var group errgroup.Group
	for w := range writers {
		group.Go(func() error {
			for i := w; i < *collection; i += writers {
				pod := &corev1.Pod{
					ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("p-%d", i), Labels: map[string]string{"many": "yes"}},
					Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "example.com/image"}}},
				}
				if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
					return fmt.Errorf("pod %d: %w", i, err)
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	created := time.Now()
	request := func(verb *rest.Request) error {
		return verb.Namespace(metav1.NamespaceDefault).Resource(
			"pods",
		).Param("labelSelector", "many=yes").Param(
			"timeout",
			tooShort,
		).
			Do(t.Context()).Error()
	}
	client := clients.CoreV1().RESTClient()
	// A response that has started when the time limit is reached is cut off.
	if err := request(client.Get()); !apierrors.IsTimeout(err) &&
		(err == nil || !strings.Contains(err.Error(), http.ErrAbortHandler.Error())) {
		t.Fatalf("list: got %v, want a timeout", err)
	}
	if err := request(client.Delete()); err != nil {
		t.Fatalf("delete: %v", err)
	}
	t.Logf("%d pods were created in %s and deleted in %s", *collection, created.Sub(began).Round(time.Millisecond),
		time.Since(created).Round(time.Millisecond))
	left, err := pods.List(t.Context(), metav1.ListOptions{LabelSelector: "many=yes"})
	if err != nil {
		t.Fatal(err)
	}
	if len(left.Items) > 0 {
		t.Errorf("%d of %d pods are left", len(left.Items), *collection)
	}
}
