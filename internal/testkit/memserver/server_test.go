package memserver

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

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
		if _, err := set.Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}},
			metav1.CreateOptions{}); err != nil {
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

// A watch from before the server has forgotten ends with the error that has a client list anew; one
// from after it goes on.
func TestForget(t *testing.T) {
	server, err := New()
	if err != nil {
		t.Fatal(err)
	}
	set, err := client.New(server.Config(nil))
	if err != nil {
		t.Fatal(err)
	}
	create := func(name string) *corev1.Namespace {
		made, err := set.Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}},
			metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	first := func(since string) watch.Event {
		w, err := set.Namespaces().Watch(t.Context(), metav1.ListOptions{ResourceVersion: since})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Stop()
		return <-w.ResultChan()
	}
	a, b := create("a"), create("b")
	if e := first(a.ResourceVersion); e.Type != watch.Added {
		t.Errorf("before it forgets: %v", e)
	}
	server.Forget()
	if e := first(a.ResourceVersion); e.Type != watch.Error ||
		!apierrors.IsResourceExpired(apierrors.FromObject(e.Object)) {
		t.Errorf("from before it forgot: %v", e)
	}
	create("c")
	if e := first(b.ResourceVersion); e.Type != watch.Added {
		t.Errorf("from after it forgot: %v", e)
	}
}
