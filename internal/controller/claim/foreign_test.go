package claim

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	testclock "k8s.io/utils/clock/testing"
)

// kindServer has two kinds and answers for each name as it is told; it counts what it is asked.
type kindServer struct {
	mu    sync.Mutex
	asked map[string]int
}

func (s *kindServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	what := "discovery"
	if strings.Contains(r.URL.Path, "/namespaces/") || strings.HasPrefix(r.URL.Path, "/apis/example.com/v1/racks/") {
		what = r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	}
	s.mu.Lock()
	s.asked[what]++
	s.mu.Unlock()
	answer := func(code int, body any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(body)
	}
	status := func(code int32, reason metav1.StatusReason) {
		answer(
			int(code),
			metav1.Status{
				TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
				Status:   metav1.StatusFailure,
				Code:     code,
				Reason:   reason,
			},
		)
	}
	switch {
	case r.URL.Path == "/apis":
		version := metav1.GroupVersionForDiscovery{GroupVersion: "example.com/v1", Version: "v1"}
		answer(
			200,
			metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{
				{Name: "example.com", Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version},
			}},
		)
	case r.URL.Path == "/apis/example.com/v1":
		answer(
			200,
			metav1.APIResourceList{
				TypeMeta:     metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
				GroupVersion: "example.com/v1",
				APIResources: []metav1.APIResource{
					{Name: "workloads", SingularName: "workload", Kind: "Workload", Namespaced: true, Verbs: []string{"get"}},
					{Name: "racks", SingularName: "rack", Kind: "Rack", Verbs: []string{"get"}},
				},
			},
		)
	case what == "there":
		answer(200, metav1.PartialObjectMetadata{
			TypeMeta:   metav1.TypeMeta{Kind: "PartialObjectMetadata", APIVersion: "meta.k8s.io/v1"},
			ObjectMeta: metav1.ObjectMeta{Name: "there", UID: "1"},
		})
	case what == "secret":
		status(403, metav1.StatusReasonForbidden)
	case what == "unreadable":
		status(405, metav1.StatusReasonMethodNotAllowed)
	case what == "broken":
		status(422, metav1.StatusReasonInvalid)
	default:
		status(404, metav1.StatusReasonNotFound)
	}
}

// K5194, R16: only an object that certainly does not exist, with its UID, is gone. One look is one
// request, and what kinds there are is asked once in a period.
func TestForeignGone(t *testing.T) {
	handler := &kindServer{asked: map[string]int{}}
	server := httptest.NewServer(handler)
	defer server.Close()
	clock := testclock.NewFakePassiveClock(time.Unix(1000, 0))
	objects, err := newObjects(&rest.Config{Host: server.URL}, clock)
	if err != nil {
		t.Fatal(err)
	}
	ref := func(resource, name string, uid types.UID) resourcev1.ResourceClaimConsumerReference {
		return resourcev1.ResourceClaimConsumerReference{APIGroup: "example.com", Resource: resource, Name: name, UID: uid}
	}
	for _, c := range []struct {
		ref    resourcev1.ResourceClaimConsumerReference
		gone   bool
		failed bool
	}{
		{ref: ref("workloads", "there", "1")},
		{ref: ref("workloads", "there", "2"), gone: true},
		{ref: ref("workloads", "absent", "1"), gone: true},
		{ref: ref("racks", "there", "1")},
		{ref: ref("racks", "absent", "1"), gone: true},
		{ref: ref("workloads", "secret", "1")},
		{ref: ref("workloads", "unreadable", "1")},
		{ref: ref("workloads", "broken", "1"), failed: true},
		{ref: ref("unknowns", "x", "1")},
	} {
		gone, err := objects.ForeignGone(t.Context(), "default", c.ref)
		if gone != c.gone || (err != nil) != c.failed {
			t.Errorf("%s %s %s: gone %t, error %v", c.ref.Resource, c.ref.Name, c.ref.UID, gone, err)
		}
	}
	for what, want := range map[string]int{"there": 3, "absent": 2, "secret": 1, "unreadable": 1, "broken": 1} {
		if got := handler.asked[what]; got != want {
			t.Errorf("%d requests for %s, want %d", got, what, want)
		}
	}
	once := handler.asked["discovery"]
	for range 100 {
		_, _ = objects.ForeignGone(t.Context(), "default", ref("unknowns", "x", "1"))
	}
	if got := handler.asked["discovery"]; got != once {
		t.Errorf("an unknown kind cost %d more requests within the period", got-once)
	}
	clock.SetTime(clock.Now().Add(foreignPeriod))
	for range 100 {
		_, _ = objects.ForeignGone(t.Context(), "default", ref("unknowns", "x", "1"))
	}
	if got := handler.asked["discovery"]; got > 2*once {
		t.Errorf("%d requests for the kinds in the next period, %d in the first", got-once, once)
	}
}
