package gather

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/snapshot"
)

func podNamed(name, version string) *core.Pod {
	return &core.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, ResourceVersion: version}}
}

// A Snapshot follows what is watched, and is taken again when the server has forgotten its
// revision.
func TestFollow(t *testing.T) {
	changes := watch.NewFakeWithChanSize(1, false)
	lists := []*core.PodList{
		{ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: []core.Pod{*podNamed("a", "1")}},
		{ListMeta: metav1.ListMeta{ResourceVersion: "9"}, Items: []core.Pod{*podNamed("c", "9")}},
	}
	g := &Gatherer{absent: map[string]bool{}, kinds: []kind{{resource: "pods", namespaced: true, source: source{
		list: func(context.Context, string, metav1.ListOptions) (runtime.Object, error) {
			list := lists[0]
			lists = lists[1:]
			return list, nil
		},
		watch: func(context.Context, string, metav1.ListOptions) (watch.Interface, error) { return changes, nil },
	}}}}
	expired := apierrors.NewResourceExpired("forgotten").Status()
	steps := []func(){
		func() { changes.Add(podNamed("b", "2")) },
		func() { changes.Delete(podNamed("a", "3")) },
		func() { changes.Error(&expired) },
	}
	var seen [][]string
	err := g.Follow(t.Context(), time.Now, func(s *snapshot.Snapshot) error {
		var names []string
		for _, pod := range s.Objects.Pods {
			names = append(names, pod.Name)
		}
		seen = append(seen, names)
		if len(steps) == 0 {
			return errEnough
		}
		steps[0]()
		steps = steps[1:]
		return nil
	})
	if !errors.Is(err, errEnough) {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]string{{"a"}, {"a", "b"}, {"b"}, {"c"}}, seen); diff != "" {
		t.Error(diff)
	}
}

var errEnough = errors.New("enough")

// observed records what an Observer is given, until it has a change and a kind that is not known any
// more.
type observed struct{ Batch }

func (o *observed) Begin(*snapshot.Snapshot) error { return nil }

func (o *observed) Change(batch Batch) error {
	o.Changes, o.Unknown = append(o.Changes, batch.Changes...), append(o.Unknown, batch.Unknown...)
	if len(o.Changes) > 0 && len(o.Unknown) > 0 {
		return errEnough
	}
	return nil
}

// A kind that may be listed and not watched is named, and the other kinds are watched.
func TestForbiddenWatch(t *testing.T) {
	changes := watch.NewFakeWithChanSize(1, false)
	changes.Add(podNamed("a", "2"))
	list := func(context.Context, string, metav1.ListOptions) (runtime.Object, error) {
		return &core.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}, nil
	}
	forbid := func(context.Context, string, metav1.ListOptions) (watch.Interface, error) {
		return nil, apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "", nil)
	}
	permit := func(context.Context, string, metav1.ListOptions) (watch.Interface, error) { return changes, nil }
	g := &Gatherer{absent: map[string]bool{}, kinds: []kind{
		{resource: "nodes", source: source{list: list, watch: forbid}},
		{resource: "pods", namespaced: true, source: source{list: list, watch: permit}},
	}}
	var o observed
	if err := g.Watch(t.Context(), time.Now, &o); !errors.Is(err, errEnough) {
		t.Fatal(err)
	}
	want := "nodes: you may not watch them, so changes of them are not seen"
	if len(o.Changes) != 1 || len(o.Unknown) != 1 || o.Unknown[0].String() != want {
		t.Errorf("got %d changes, and %v is not known", len(o.Changes), o.Unknown)
	}
}
