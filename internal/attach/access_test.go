package attach

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	allotv1alpha1 "github.com/allot-dev/allot/api/allot/v1alpha1"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/cluster"
	"github.com/allot-dev/allot/internal/features"
)

// guard rejects the requests in refused, with a reason.
type guard struct {
	refused []string
	err     error

	mu    sync.Mutex
	asked int
}

func (g *guard) Create(
	_ context.Context, review *authorizationv1.SelfSubjectAccessReview, _ metav1.CreateOptions,
) (*authorizationv1.SelfSubjectAccessReview, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asked++
	review.Status.Allowed = !slices.Contains(g.refused, describeRequest(review.Spec.ResourceAttributes))
	return review, g.err
}

func choice(groups string) *Choice {
	s := Survey{TaintRules: resourcev1.SchemeGroupVersion, CSINodes: true, Services: true}
	switch groups {
	case "native":
		s.Groups = schedulingv1beta1.SchemeGroupVersion
	case "own":
		s.Groups = allotv1alpha1.SchemeGroupVersion
	}
	c := Choose(s, nil, features.Set{})
	return &c
}

// The self-check names the rule that became necessary by an upgrade, and no other (F69).
func TestF69MissingPermissionIsNamed(t *testing.T) {
	for _, groups := range []string{"none", "native", "own"} {
		g := &guard{
			refused: []string{
				"update resourceclaims/binding of resource.k8s.io",
				"get leases of coordination.k8s.io named l in namespace ns",
			},
		}
		missing, err := Missing(t.Context(), g, "", Rules(choice(groups)))
		if diff := cmp.Diff(g.refused[:1], missing); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", groups, err, diff)
		}
		missing, err = Missing(t.Context(), g, "ns", LeaseRules("l"))
		if diff := cmp.Diff(g.refused[1:], missing); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", groups, err, diff)
		}
	}
}

// An optional kind is not read if that is not permitted, and access to it is not checked again.
func TestUnreadableKindsAreOmitted(t *testing.T) {
	for _, refused := range [][]string{nil, {"watch csinodes of storage.k8s.io"}} {
		s := Survey{CSINodes: true}
		g := &guard{refused: refused}
		if err := s.Narrow(t.Context(), g); err != nil {
			t.Fatal(err)
		}
		c := Choose(s, nil, features.Set{})
		missing, err := Missing(t.Context(), g, "", Rules(&c))
		if err != nil || len(missing) > 0 {
			t.Errorf("%v is missing: %v", missing, err)
		}
		said := slices.ContainsFunc(c.Notes, func(note string) bool { return strings.Contains(note, "csinodes") })
		if left := slices.Contains(c.Absent, "csinodes"); left != (refused != nil) || said != left {
			t.Errorf("with %v refused, csinodes are left out: %t, and it is said: %t", refused, left, said)
		}
	}
}

// If a review gets no response, nothing is known, which is different from a missing permission.
func TestUnansweredReviewIsAnError(t *testing.T) {
	g := &guard{err: apierrors.NewServiceUnavailable("starting")}
	if missing, err := Missing(t.Context(), g, "", Rules(choice("own"))); err == nil ||
		!strings.Contains(err.Error(), "starting") {
		t.Errorf("%v, %v", missing, err)
	}
}

func TestEachPermissionIsCheckedOnce(t *testing.T) {
	g := &guard{}
	rules := Rules(choice("own"))
	if _, err := Missing(t.Context(), g, "", append(rules, rules...)); err != nil {
		t.Fatal(err)
	}
	if want := len(singleRules("", rules)); g.asked != want {
		t.Errorf("asked %d times, for %d rights", g.asked, want)
	}
}

// The roles of the chart grant the required permissions, in each configuration.
func TestChartGrantsRequiredPermissions(t *testing.T) {
	parts := RulesByPart()
	for groups, names := range map[string][]string{"none": {"common"}, "native": {"common", "native"},
		"own": {"common", "own"}} {
		given := map[string]bool{}
		for _, name := range names {
			for _, q := range singleRules("", parts[name]) {
				given[describeRequest(&q)] = true
			}
		}
		for _, q := range singleRules("", Rules(choice(groups))) {
			if !given[describeRequest(&q)] {
				t.Errorf("%s: the chart does not give %s", groups, describeRequest(&q))
			}
			delete(given, describeRequest(&q))
		}
		if len(given) > 0 {
			t.Errorf("%s: the chart gives more: %v", groups, given)
		}
	}
}

// All kinds that the scheduler and the controllers watch may be watched, because a cache whose
// watch is rejected never syncs.
func TestAllWatchesArePermitted(t *testing.T) {
	for _, groups := range []string{"none", "native", "own"} {
		c := choice(groups)
		set, err := client.NewFor(&rest.Config{}, c.Dialect)
		if err != nil {
			t.Fatal(err)
		}
		caches := client.NewInformers(set).Without(c.Absent...)
		cluster.CachesOf(caches)
		events := record.NewFakeRecorder(1)
		if c.Own() {
			_, err = NewGroupClaims(set, caches, events)
		}
		_, limits := NewLimits(set, caches, events)
		_, doubles := NewDoubleAllocationController(set, caches, events, "allot")
		if err := errors.Join(err, limits, doubles); err != nil {
			t.Fatal(err)
		}
		given := map[string]bool{}
		for _, q := range singleRules("", Rules(c)) {
			given[q.Verb+" "+q.Resource] = true
		}
		for _, kind := range caches.Kinds() {
			if !given["list "+kind] || !given["watch "+kind] {
				t.Errorf("%s: nothing lets %s be watched", groups, kind)
			}
		}
	}
}
