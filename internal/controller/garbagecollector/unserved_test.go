package garbagecollector

import (
	"context"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/allot-dev/allot/internal/controller/kinds"
)

// failingServer is a server that responds to each request with the same error.
type failingServer struct {
	objects
	err error
}

func (s failingServer) Live(context.Context, kinds.Kind, string, string) (*Object, error) {
	return nil, s.err
}

// A kind whose version has just been removed may still have objects: their dependents remain until
// their location is known.
func TestUnservedPathIsNoAnswerAboutOwners(t *testing.T) {
	pods := corev1.Resource("pods")
	for name, tc := range map[string]struct {
		err  error
		gone bool
	}{
		"the object is not there": {apierrors.NewNotFound(pods, "p"), true},
		"no such path": {apierrors.NewGenericServerResponse(http.StatusNotFound, "get", pods, "p",
			"404 page not found", 0, true), false},
		"no such resource": {apierrors.NewNotFound(schema.GroupResource{}, ""), false},
	} {
		c := &Controller{graph: NewGraph(), objects: failingServer{err: tc.err}}
		c.graph.SetKinds([]kinds.Kind{{Kind: corev1.SchemeGroupVersion.WithKind("Pod"), Namespaced: true}})
		c.graph.Observe(
			&Object{
				UID:       "d",
				Namespace: "ns",
				Owners:    []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "p", UID: "o"}},
			},
		)
		state, err := c.lookUp(t.Context(), Place{APIVersion: "v1", Kind: "Pod", Namespace: "ns", Name: "p"}, "o")
		if gone := state == Absent; gone != tc.gone || (err == nil) != tc.gone {
			t.Errorf("%s: the owner is %s, error %v", name, state, err)
		}
	}
}
