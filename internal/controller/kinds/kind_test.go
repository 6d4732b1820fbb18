package kinds

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type server struct {
	lists []*metav1.APIResourceList
	err   error
}

func (s server) ServerPreferredResources() ([]*metav1.APIResourceList, error) { return s.lists, s.err }

func TestList(t *testing.T) {
	broken := errors.New("group metrics is down")
	kinds, err := List(server{err: broken, lists: []*metav1.APIResourceList{
		{GroupVersion: "v1", APIResources: []metav1.APIResource{
			{Name: "pods", Kind: "Pod", Namespaced: true, Verbs: []string{"watch", "list", "delete"}},
			{Name: "pods/status", Kind: "Pod", Namespaced: true, Verbs: []string{"delete"}},
			{Name: "bindings", Kind: "Binding", Namespaced: true, Verbs: []string{"create"}},
		}},
		{GroupVersion: "example.com/v2", APIResources: []metav1.APIResource{
			{Name: "things", Kind: "Thing", Verbs: []string{"delete"}},
		}},
		{GroupVersion: "a/b/c"},
	}})
	if !errors.Is(err, broken) {
		t.Errorf("error %v, want one that says %v", err, broken)
	}
	var got []string
	for _, k := range kinds {
		got = append(got, k.Resource.String()+" "+k.Kind.String())
		if k.Namespaced != (k.Kind.Kind == "Pod") || k.Has("delete", "watch") != (k.Kind.Kind == "Pod") || k.Has("create") {
			t.Errorf("kind %+v", k)
		}
	}
	want := []string{
		"/v1, Resource=pods /v1, Kind=Pod",
		"example.com/v2, Resource=things example.com/v2, Kind=Thing",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
}
