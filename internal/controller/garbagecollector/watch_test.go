package garbagecollector

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata/fake"

	"github.com/allot-dev/allot/internal/controller/kinds"
)

// fakeDiscovery returns what a test sets.
type fakeDiscovery struct {
	mu    sync.Mutex
	lists []*metav1.APIResourceList
	err   error
}

func (d *fakeDiscovery) ServerPreferredResources() ([]*metav1.APIResourceList, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lists, d.err
}

func (d *fakeDiscovery) set(err error, kinds ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.err, d.lists = err, nil
	for _, kind := range kinds {
		d.lists = append(d.lists, &metav1.APIResourceList{GroupVersion: "example.com/v1", APIResources: []metav1.APIResource{
			{Name: strings.ToLower(kind) + "s", Kind: kind, Namespaced: true, Verbs: []string{"delete", "list", "watch"}},
		}})
	}
}

func thing(kind, name string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "example.com/v1", Kind: kind},
		ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: name, Labels: map[string]string{"a": "b"}},
	}
}

// TestWatcherFollowsDiscovery adds and removes kinds.
func TestWatcherFollowsDiscovery(t *testing.T) {
	scheme := fake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	objects := []runtime.Object{thing("Apple", "a"), thing("Pear", "p"), thing("Event", "e")}
	ctx, cancel := context.WithCancel(context.Background())
	seen := make(chan string, 10)
	forgotten := make(chan string, 10)
	known := 0
	source := &fakeDiscovery{}
	w := &watcher{
		discovery: source, metadata: fake.NewSimpleMetadataClient(scheme, objects...),
		onKinds: func(list []kinds.Kind) { known = len(list) },
		onEvent: func(kind schema.GroupVersionKind, _, after metav1.Object) {
			if after.GetLabels() != nil {
				t.Error("labels are kept in memory")
			}
			seen <- kind.Kind + " " + after.GetName()
		},
		onForget: func(gk schema.GroupKind) {
			if known != 1 {
				t.Errorf("%s is forgotten while %d kinds are known, want the one that there is by now", gk.Kind, known)
			}
			forgotten <- gk.Kind
		},
		watched: map[schema.GroupKind]*watch{}, changed: make(chan struct{}, 1),
	}
	defer w.running.Wait()
	defer cancel()
	refresh := func(wantChanged bool, wantKnown int) {
		t.Helper()
		changed, err := w.refresh(ctx)
		if changed != wantChanged || known != wantKnown || (err != nil) != (source.err != nil) {
			t.Errorf("refresh: changed %v, %d kinds known, error %v; want %v, %d", changed, known, err, wantChanged, wantKnown)
		}
	}

	source.set(nil, "Apple", "Event")
	if err := w.start(ctx); err != nil {
		t.Fatal(err)
	}
	if got := <-seen; got != "Apple a" {
		t.Errorf("saw %q", got)
	}
	refresh(false, 2)

	source.set(nil, "Apple", "Event", "Pear")
	refresh(true, 3)
	if got := <-seen; got != "Pear p" {
		t.Errorf("saw %q", got)
	}

	// A partial response removes nothing.
	source.set(errors.New("a group is down"), "Apple")
	refresh(false, 3)

	source.set(nil, "Pear")
	refresh(true, 1)
	if got := <-forgotten; got != "Apple" {
		t.Errorf("forgot %q", got)
	}
	if len(w.watched) != 1 || len(seen)+len(forgotten) > 0 {
		t.Errorf("%d watches, %d events, %d forgotten", len(w.watched), len(seen), len(forgotten))
	}
}
