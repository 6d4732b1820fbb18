package apiserver_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/allot-dev/allot/internal/apiserver"
)

// TestLargeCollectionIsDeletedInFull deletes a collection for which the time of a request is too short (P26): it is
// deleted to the last object, while another request that takes too long would be ended.
func TestLargeCollectionIsDeletedInFull(t *testing.T) {
	const objects, timeout = 1500, 150 * time.Millisecond
	dir := t.TempDir()
	s := startServer(t, apiserver.Config{DataDir: dir, UnsafeNoFsync: true}.WithRequestTimeout(timeout))
	clients, err := kubernetes.NewForConfig(s.Loopback())
	if err != nil {
		t.Fatal(err)
	}
	maps := clients.CoreV1().ConfigMaps(metav1.NamespaceDefault)
	for i := range objects {
		m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("m-%d", i), Labels: map[string]string{"many": "yes"}}}
		if _, err := maps.Create(t.Context(), m, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	selector := metav1.ListOptions{LabelSelector: "many=yes"}
	if err := maps.DeleteCollection(t.Context(), metav1.DeleteOptions{}, selector); err != nil {
		t.Fatalf("after %s: %v", time.Since(began), err)
	}
	if took := time.Since(began); took < timeout {
		t.Errorf("took %s, which is too short to show anything", took)
	}
	left, err := maps.List(t.Context(), selector)
	if err != nil {
		t.Fatal(err)
	}
	if len(left.Items) > 0 {
		t.Errorf("%d of %d objects are left", len(left.Items), objects)
	}
}
