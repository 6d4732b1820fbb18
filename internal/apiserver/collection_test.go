package apiserver_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/allot-dev/allot/internal/apiserver"
)

// TestLargeCollectionIsDeletedInFull deletes a collection with a timeout that any other request
// would exceed (P26), and checks that all objects are deleted.
func TestLargeCollectionIsDeletedInFull(t *testing.T) {
	const objects, tooShort = 200, "1ns"
	s := startServer(t, apiserver.Config{DataDir: t.TempDir(), UnsafeNoFsync: true})
	clients, err := kubernetes.NewForConfig(s.Loopback())
	if err != nil {
		t.Fatal(err)
	}
	maps := clients.CoreV1().ConfigMaps(metav1.NamespaceDefault)
	for i := range objects {
		m := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("m-%d", i), Labels: map[string]string{"many": "yes"}},
		}
		if _, err := maps.Create(t.Context(), m, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	request := func(verb *rest.Request) error {
		return verb.Namespace(metav1.NamespaceDefault).Resource(
			"configmaps",
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
	left, err := maps.List(t.Context(), metav1.ListOptions{LabelSelector: "many=yes"})
	if err != nil {
		t.Fatal(err)
	}
	if len(left.Items) > 0 {
		t.Errorf("%d of %d objects are left", len(left.Items), objects)
	}
}
