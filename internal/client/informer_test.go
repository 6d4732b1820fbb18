package client

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"

	core "github.com/allot-dev/allot/api/core/v1"
)

// memory is a server with pods: it lists them and sends changes to its watchers.
type memory struct {
	pods     map[string]*core.Pod
	watchers []*watch.FakeWatcher
}

func (m *memory) List(context.Context, metav1.ListOptions) (*core.PodList, error) {
	list := &core.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}
	for _, pod := range m.pods {
		list.Items = append(list.Items, *pod)
	}
	return list, nil
}

// Watch begins with the existing objects if that is requested, as servers do since Kubernetes 1.34.
func (m *memory) Watch(_ context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	w := watch.NewFakeWithChanSize(len(m.pods)+1, false)
	m.watchers = append(m.watchers, w)
	if ptr.Deref(opts.SendInitialEvents, false) {
		for _, pod := range m.pods {
			w.Add(pod)
		}
		end := pod("", "", "", "1")
		end.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
		w.Action(watch.Bookmark, end)
	}
	return w, nil
}

// last returns the open watch.
func (m *memory) last() *watch.FakeWatcher { return m.watchers[len(m.watchers)-1] }

func pod(namespace, name, node, version string) *core.Pod {
	p := &core.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: types.UID(name), ResourceVersion: version,
	}}
	p.Spec.NodeName = node
	return p
}

func newMemory(pods ...*core.Pod) *memory {
	m := &memory{pods: map[string]*core.Pod{}}
	for _, p := range pods {
		m.pods[p.Namespace+"/"+p.Name] = p
	}
	return m
}

// run runs an informer of m inside a synctest bubble until the returned function is called.
func run(t *testing.T, informer *Informer[*core.Pod]) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		informer.shared.RunWithContext(ctx)
	}()
	synctest.Wait()
	return func() {
		cancel()
		<-done
	}
}

func names(pods []*core.Pod) string {
	var out []string
	for _, p := range pods {
		out = append(out, p.Namespace+"/"+p.Name)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func TestInformerLooksUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(pod("a", "x", "n1", "1"), pod("a", "y", "", "1"), pod("b", "x", "n1", "1"))
		informer := newInformer(m, &core.Pod{})
		for range 2 { // the second call has no effect
			if err := informer.AddIndex(PodsByNode, PodNodes); err != nil {
				t.Fatal(err)
			}
		}
		defer run(t, informer)()
		if p, ok := informer.Get("b", "x"); !ok || p.Namespace != "b" {
			t.Errorf("Get(b, x) = %v, %t", p, ok)
		}
		if p, ok := informer.Get("b", "y"); ok || p != nil {
			t.Errorf("Get(b, y) = %v, %t; want nothing", p, ok)
		}
		got := map[string]string{
			"all": names(informer.List()), "in a": names(informer.InNamespace("a")),
			"on n1": names(informer.ByIndex(PodsByNode, "n1")), "on n2": names(informer.ByIndex(PodsByNode, "n2")),
		}
		want := map[string]string{"all": "a/x a/y b/x", "in a": "a/x a/y", "on n1": "a/x b/x", "on n2": ""}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("found (-want +got):\n%s", diff)
		}
		m.last().Modify(pod("a", "x", "n2", "2"))
		synctest.Wait()
		if got := names(informer.ByIndex(PodsByNode, "n1")); got != "b/x" {
			t.Errorf("on n1 after a/x has moved: %s", got)
		}
	})
}

func TestUnknownIndexIsAFault(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("an index that nobody added was read")
		}
	}()
	newInformer(newMemory(), &core.Pod{}).ByIndex("no such index", "x")
}

// TestOnChangeIsCalledForEachChange includes a deletion that the watch misses: the cache detects it by
// the next list, and only has a tombstone for the handler.
func TestOnChangeIsCalledForEachChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(pod("a", "x", "", "1"))
		informer := newInformer(m, &core.Pod{})
		var told []string
		informer.OnChange(func(old, now *core.Pod) {
			switch {
			case old == nil:
				told = append(told, "new "+now.Name+" "+now.ResourceVersion)
			case now == nil:
				told = append(told, "gone "+old.Name+" "+old.ResourceVersion)
			default:
				told = append(told, now.Name+" "+old.ResourceVersion+" -> "+now.ResourceVersion)
			}
		})
		defer run(t, informer)()
		m.last().Modify(pod("a", "x", "n1", "2"))
		m.last().Add(pod("a", "y", "", "3"))
		m.last().Delete(pod("a", "y", "", "4"))
		synctest.Wait()
		delete(m.pods, "a/x")
		m.last().Error(&metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonExpired, Code: 410})
		advance(time.Minute) // the informer waits before it lists again
		want := []string{"new x 1", "x 1 -> 2", "new y 3", "gone y 4", "gone x 2"}
		if diff := cmp.Diff(want, told); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
	})
}

func TestHasSyncedWaitsForHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		informer := newInformer(newMemory(pod("a", "x", "", "1")), &core.Pod{})
		release := make(chan struct{})
		informer.OnChange(func(_, _ *core.Pod) { <-release })
		defer run(t, informer)()
		advance(time.Second)
		if names(informer.List()) != "a/x" || !informer.shared.HasSynced() {
			t.Fatal("the cache is not filled")
		}
		if informer.HasSynced() {
			t.Error("synced, though a handler has not seen the first list")
		}
		close(release)
		advance(time.Second)
		if !informer.HasSynced() {
			t.Error("not synced, though the handler has seen the first list")
		}
	})
}

// advance waits in the bubble.
func advance(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// TestInformerOfAbsentKind checks that the cache of a kind that the server does not have syncs, without objects.
func TestInformerOfAbsentKind(t *testing.T) {
	f := NewInformers(&Set{}).Without("podgroups")
	calls := 0
	made := informerFor(f, "podgroups", func() *Informer[*core.Pod] {
		calls++
		return newInformer(newMemory(pod("a", "b", "", "1")), &core.Pod{})
	})
	made.OnChange(func(_, _ *core.Pod) { t.Error("an object of an absent kind") })
	f.Start(t.Context())
	if err := f.WaitForSync(t.Context()); err != nil || !made.HasSynced() || len(made.List()) > 0 {
		t.Errorf("got %v, synced %t, %d objects", err, made.HasSynced(), len(made.List()))
	}
	if again := informerFor(f, "podgroups", func() *Informer[*core.Pod] { calls++; return nil }); again != made ||
		calls != 1 {
		t.Error("the informer was made twice")
	}
	if f.Has("podgroups") || !f.Has("pods") {
		t.Error("which kinds there are is not known")
	}
}
