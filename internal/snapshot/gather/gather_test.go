package gather

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/allot-dev/allot/internal/client"
)

// reply is what a server answers to one list.
type reply struct {
	namespace, cont string
	names           []string
	next            string
	err             error
}

// podsOf returns a kind whose lists are answered by replies, in order.
func podsOf(t *testing.T, replies ...reply) *kind {
	list := func(_ context.Context, namespace string, opts metav1.ListOptions) (runtime.Object, error) {
		if len(replies) == 0 {
			t.Fatal("one list too many")
		}
		r := replies[0]
		replies = replies[1:]
		if r.namespace != namespace || r.cont != opts.Continue {
			t.Errorf("list of namespace %q from %q, want %q from %q", namespace, opts.Continue, r.namespace, r.cont)
		}
		list := &corev1.PodList{ListMeta: metav1.ListMeta{Continue: r.next}}
		for _, name := range r.names {
			list.Items = append(list.Items, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}})
		}
		return list, r.err
	}
	return &kind{resource: "pods", namespaced: true, missing: "nothing is known", source: source{list: list}}
}

func TestRead(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	forbidden := apierrors.NewForbidden(pods, "", nil)
	for _, c := range []struct {
		name      string
		namespace string
		replies   []reply
		want      []string
		unknown   string
		fails     bool
	}{
		{name: "pages", replies: []reply{{names: []string{"a"}, next: "1"}, {cont: "1", names: []string{"b"}}},
			want: []string{"a", "b"}},
		{
			name: "the server forgot the revision of the pages",
			replies: []reply{{names: []string{"a"}, next: "1"}, {cont: "1", err: apierrors.NewResourceExpired("gone")},
				{names: []string{"a", "b"}}},
			want: []string{"a", "b"},
		},
		{name: "not allowed", replies: []reply{{err: forbidden}},
			unknown: "pods: you may not list them, so nothing is known"},
		{
			name: "allowed in one namespace", namespace: "ns",
			replies: []reply{{err: forbidden}, {namespace: "ns", names: []string{"a"}}},
			want:    []string{"a"}, unknown: "pods: you may list them only in namespace ns, so nothing is known",
		},
		{
			name: "not allowed in the namespace either", namespace: "ns",
			replies: []reply{{err: forbidden}, {namespace: "ns", err: forbidden}},
			unknown: "pods: you may not list them, so nothing is known",
		},
		{name: "not served", replies: []reply{{err: apierrors.NewNotFound(pods, "")}}},
		{name: "an error", replies: []reply{{err: apierrors.NewInternalError(context.Canceled)}}, fails: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := &Gatherer{Namespace: c.namespace}
			read, unknown, err := g.read(t.Context(), podsOf(t, c.replies...))
			if (err != nil) != c.fails {
				t.Fatalf("error = %v", err)
			}
			var names []string
			for _, object := range read.objects {
				names = append(names, object.(*corev1.Pod).Name)
			}
			text := ""
			if unknown != nil {
				text = unknown.String()
			}
			if diff := cmp.Diff(c.want, names) + cmp.Diff(c.unknown, text); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The rights are documented completely.
func TestRightsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/explain.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range kinds(&client.Set{}, nil) {
		if !strings.Contains(string(page), k.resource) {
			t.Errorf("docs/explain.md does not name the right to list %s", k.resource)
		}
	}
}
