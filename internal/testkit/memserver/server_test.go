package memserver

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/allot-dev/allot/internal/client"
)

// A cache in a bubble shows what is written, and the bubble's time passes while it waits.
func TestInABubble(t *testing.T) {
	server, err := New()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		began := server.Snapshot()
		synctest.Test(t, func(t *testing.T) { writeAndWatch(t, server) })
		server.Restore(began)
	}
}

func writeAndWatch(t *testing.T, server *Server) {
	set, err := client.New(server.Config(nil))
	if err != nil {
		t.Fatal(err)
	}
	caches := client.NewInformers(set)
	namespaces := caches.Namespaces()
	ctx, cancel := context.WithCancel(t.Context())
	defer caches.Wait()
	defer cancel()
	caches.Start(ctx)
	began := time.Now()
	if err := caches.WaitForSync(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		if _, err := set.Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	a, err := set.Namespaces().Get(t.Context(), "a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	a.Labels = map[string]string{"x": "y"}
	if _, err := set.Namespaces().Update(t.Context(), a, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := set.Namespaces().Update(t.Context(), a, metav1.UpdateOptions{}); err == nil {
		t.Error("an update over an old version was taken")
	}
	time.Sleep(time.Hour)
	if took := time.Since(began); took < time.Hour || took > 2*time.Hour {
		t.Errorf("took %v", took)
	}
	if seen, _ := namespaces.Get("", "a"); len(namespaces.List()) != 2 || seen.Labels["x"] != "y" {
		t.Errorf("seen %v", namespaces.List())
	}
}
