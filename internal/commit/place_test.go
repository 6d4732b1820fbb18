package commit

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	placement "github.com/allot-dev/allot/api/placement/v1alpha2"
	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/plan"
)

// placing is a server that binds the pods of a plan as a whole.
type placing struct {
	*server
	serves func() (bool, error)
	// answer is called for each request, and may respond in place of the server.
	answer  func(request int) error
	unbound []placement.UnboundPod
	asked   int
	sizes   []int // pods of each request
	// claimsSent are the claims of the last request.
	claimsSent []resource.ResourceClaim
}

func newPlacing(s *server) *placing {
	return &placing{server: s, serves: func() (bool, error) { return true, nil }, answer: func(int) error { return nil }}
}

func (p *placing) ServesPlacements(context.Context) (bool, error) {
	p.asked++
	return p.serves()
}

func (p *placing) Place(_ context.Context, request *placement.Placement) (*placement.Placement, error) {
	p.sizes, p.claimsSent = append(p.sizes, len(request.Spec.Pods)), request.Spec.Claims
	if err := p.answer(len(p.sizes)); err != nil {
		return nil, err
	}
	for _, pod := range request.Spec.Pods {
		p.bound[model.Key{Namespace: request.Namespace, Name: pod.Name}] = pod.NodeName
	}
	for _, u := range p.unbound {
		delete(p.bound, model.Key{Namespace: request.Namespace, Name: u.Name})
	}
	return &placement.Placement{Status: placement.PlacementStatus{Unbound: p.unbound}}, nil
}

func (p *placing) committer() *Committer {
	c := p.server.committer()
	c.placements.api = p
	return c
}

// wholeGang returns a plan for a gang of n pods that share a claim.
func wholeGang(n int) *plan.Plan {
	p := gang(n, claimPlan("c", group))
	p.Unit, p.MinCount = model.UnitKey{Group: true, Key: model.Key{Namespace: "ns", Name: "g"}}, n
	return p
}

var conflict = apierrors.NewConflict(schema.GroupResource{Group: placement.GroupName, Resource: "placements"}, "g",
	errors.New("a pod has changed"))

// A gang is bound by one request, and a single pod by a bind (R50).
func TestGangIsBoundByOneRequest(t *testing.T) {
	p := newPlacing(newServer(claim("c")))
	c := p.committer()
	if result := c.Commit(t.Context(), wholeGang(1000)); result.Refused != nil || len(result.Failed) > 0 ||
		len(p.bound) != 1000 {
		t.Fatalf("result %+v, %d pods bound", result, len(p.bound))
	}
	if p.binds > 0 || !slices.Equal(p.sizes, []int{1000}) {
		t.Errorf("%d binds, requests of %v pods", p.binds, p.sizes)
	}
	for i, alone := range []*plan.Plan{wholeGang(1), gang(2)} {
		clear(p.bound)
		if result := c.Commit(t.Context(), alone); result.Refused != nil || len(result.Failed) > 0 || len(p.sizes) > 1 {
			t.Errorf("plan %d: result %+v, requests of %v pods", i, result, p.sizes)
		}
	}
	if p.asked != 1 {
		t.Errorf("asked %d times what the server serves", p.asked)
	}
}

// A rejected gang has no bound pods and no devices.
func TestRefusedGangKeepsNoDevices(t *testing.T) {
	p := newPlacing(newServer(claim("c")))
	p.answer = func(int) error { return conflict }
	result := p.committer().Commit(t.Context(), wholeGang(3))
	if !errors.Is(result.Refused, ErrRefused) || len(result.Failed) > 0 || len(result.TakenBack) != 1 {
		t.Fatalf("result %+v", result)
	}
	if len(p.bound) > 0 || p.claims[model.Key{Namespace: "ns", Name: "c"}].Status.Allocation != nil {
		t.Errorf("bound %v, claim %+v", p.bound, p.claims)
	}
}

// A request without a response is repeated until it gets one, because the server completes a
// placement that it has recorded.
func TestPlacementWithoutResponseIsRepeated(t *testing.T) {
	p := newPlacing(newServer(claim("c")))
	p.answer = func(request int) error {
		if request < 10 {
			return apierrors.NewTimeoutError("gone", 0)
		}
		return nil
	}
	asked := 0
	p.serves = func() (bool, error) {
		if asked++; asked < 10 {
			return false, apierrors.NewServiceUnavailable("away")
		}
		return true, nil
	}
	if result := p.committer().Commit(t.Context(), wholeGang(3)); result.Refused != nil || len(result.Failed) > 0 ||
		len(p.bound) != 3 {
		t.Errorf("result %+v, bound %v", result, p.bound)
	}
}

// If the scheduler ends before the response, it is unknown which pods were bound, and nothing is
// reverted.
func TestPlacementWithoutResponseIsNotReverted(t *testing.T) {
	p := newPlacing(newServer(claim("c")))
	ctx, cancel := context.WithCancel(t.Context())
	p.answer = func(int) error {
		cancel()
		return apierrors.NewTimeoutError("gone", 0)
	}
	result := p.committer().Commit(ctx, wholeGang(3))
	if result.Refused != nil || len(result.Failed) != 3 ||
		p.claims[model.Key{Namespace: "ns", Name: "c"}].Status.Allocation == nil {
		t.Errorf("result %+v, claim %+v", result, p.claims)
	}
}

// A repeated request may be rejected because a pod has changed since the first one was completed.
// Nothing is reverted then.
func TestRejectedRepetitionIsNotReverted(t *testing.T) {
	p := newPlacing(newServer(claim("c")))
	p.answer = func(request int) error {
		if request == 1 {
			p.bound[model.Key{Namespace: "ns", Name: "p-0"}], p.bound[model.Key{Namespace: "ns", Name: "p-1"}] = "n1", "n1"
			return apierrors.NewTimeoutError("gone", 0)
		}
		return conflict
	}
	result := p.committer().Commit(t.Context(), wholeGang(3))
	if len(result.Failed) != 1 || result.Failed[model.Key{Namespace: "ns", Name: "p-2"}] == nil || result.Refused != nil ||
		p.claims[model.Key{Namespace: "ns", Name: "c"}].Status.Allocation == nil {
		t.Errorf("result %+v, claim %+v", result, p.claims)
	}
}

func TestPodThatChangesAfterItsPlacementFailsAlone(t *testing.T) {
	p := newPlacing(newServer(claim("c")))
	p.unbound = []placement.UnboundPod{{Name: "p-1", Message: "pod p-1 was deleted"}}
	result := p.committer().Commit(t.Context(), wholeGang(3))
	if failed := slices.Collect(maps.Keys(result.Failed)); len(failed) != 1 || failed[0].Name != "p-1" ||
		result.Refused != nil {
		t.Errorf("result %+v", result)
	}
}

// Other servers get one bind for each pod.
func TestServerWithoutPlacementsBindsOneByOne(t *testing.T) {
	placements := schema.GroupResource{Group: placement.GroupName, Resource: "placements"}
	for name, p := range map[string]*placing{
		"by discovery": {serves: func() (bool, error) { return false, nil }},
		"since it was asked": {
			serves: func() (bool, error) { return true, nil },
			answer: func(int) error { return apierrors.NewGenericServerResponse(404, "POST", placements, "", "", 0, true) },
		},
		"to this user": {
			serves: func() (bool, error) { return true, nil },
			answer: func(int) error { return apierrors.NewForbidden(placements, "g", errors.New("no role")) },
		},
	} {
		p.server = newServer(claim("c"))
		if result := p.committer().Commit(t.Context(), wholeGang(3)); result.Refused != nil || len(result.Failed) > 0 ||
			p.binds != 3 {
			t.Errorf("%s: result %+v, %d binds", name, result, p.binds)
		}
	}
}

// A plan that is too large for one request is written in as few as possible. The first one decides
// whether the plan succeeds.
func TestLargePlanIsSplit(t *testing.T) {
	for _, refused := range []int{0, 1, 2} { // the rejected request, among those that are not too large
		p := newPlacing(newServer(claim("c")))
		p.answer = func(request int) error {
			switch {
			case p.sizes[request-1] > 5:
				return apierrors.NewRequestEntityTooLargeError("too large")
			case request-1 == refused:
				return conflict
			}
			return nil
		}
		result := p.committer().Commit(t.Context(), wholeGang(10))
		got := fmt.Sprintf("requests %v, %d bound, %d failed, refused %t", p.sizes, len(p.bound), len(result.Failed),
			result.Refused != nil)
		want := []string{
			"requests [10 5 5], 10 bound, 0 failed, refused false",
			"requests [10 5], 0 bound, 0 failed, refused true",
			"requests [10 5 5], 5 bound, 5 failed, refused false",
		}[refused]
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// A rejection because of pods has causes, and the request itself is valid.
func TestForbiddenPodsAreARefusal(t *testing.T) {
	err := &apierrors.StatusError{ErrStatus: metav1.Status{
		Reason: metav1.StatusReasonForbidden, Code: 403,
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Field: "spec.pods[0]"}}},
	}}
	p := newPlacing(newServer(claim("c")))
	p.answer = func(int) error { return err }
	if result := p.committer().Commit(t.Context(), wholeGang(3)); result.Refused == nil || p.binds > 0 {
		t.Errorf("result %+v, %d binds", result, p.binds)
	}
}

// expectedGang is a plan for n pods with a claim each that the plan creates.
func expectedGang(n int) *plan.Plan {
	p := gang(n)
	for i := range p.Pods {
		p.Pods[i].UID = types.UID(fmt.Sprint("uid-", i))
		name := fmt.Sprint("own-", i)
		owner := metav1.OwnerReference{Kind: "Pod", UID: p.Pods[i].UID, Controller: ptr.To(true)}
		object := &resource.ResourceClaim{ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: name, OwnerReferences: []metav1.OwnerReference{owner},
			Finalizers: []string{resourcev1.Finalizer},
		}}
		claim := claimPlan(name, model.PodConsumer(p.Pods[i].Pod.Name, p.Pods[i].UID))
		claim.UID = ""
		claim.Make = &model.Claim{Key: claim.Key, Controller: p.Pods[i].UID, Generated: object}
		p.Claims = append(p.Claims, claim)
	}
	if n > 1 {
		p.Unit, p.MinCount = model.UnitKey{Group: true, Key: model.Key{Namespace: "ns", Name: "g"}}, n
	}
	return p
}

// Expected claims are created by the request that binds their pods, also of a pod alone.
func TestExpectedClaimsAreCreatedWithTheBinds(t *testing.T) {
	for _, n := range []int{1, 3} {
		p := newPlacing(newServer())
		result := p.committer().Commit(t.Context(), expectedGang(n))
		if result.Refused != nil || len(result.Failed) > 0 || len(p.bound) != n {
			t.Fatalf("%d pods: result %+v, bound %v", n, result, p.bound)
		}
		if p.binds > 0 || len(p.log) > 0 || len(p.claimsSent) != n {
			t.Errorf("%d pods: %d binds, writes of claims %v, %d claims", n, p.binds, p.log, len(p.claimsSent))
		}
		for _, claim := range p.claimsSent {
			if a := claim.Status.Allocation; a == nil || a.AllocationTimestamp == nil || len(claim.Status.ReservedFor) != 1 {
				t.Errorf("claim %+v", claim.Status)
			}
		}
	}
}

// Where the server cannot create claims with the binds, they are written one by one before, and what
// was learned is remembered.
func TestExpectedClaimsAreWrittenBefore(t *testing.T) {
	placements := schema.GroupResource{Group: placement.GroupName, Resource: "placements"}
	for name, test := range map[string]struct {
		answer   error
		requests []int // of two plans, the pods of each
	}{
		"not alone":   {apierrors.NewMethodNotSupported(placements, "create claims with"), []int{2, 2, 2}},
		"unavailable": {apierrors.NewNotFound(placements, ""), []int{2}},
		"too large":   {apierrors.NewRequestEntityTooLargeError("limit"), []int{2, 2, 2, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlacing(newServer())
			served := true
			p.serves = func() (bool, error) { return served, nil }
			p.answer = func(int) error {
				if len(p.claimsSent) == 0 && name != "unavailable" {
					return nil
				}
				served = false // asked again, it has no placements
				return test.answer
			}
			c := p.committer()
			for range 2 {
				p.claims, p.bound, p.log = map[model.Key]*resource.ResourceClaim{}, map[model.Key]string{}, nil
				result := c.Commit(t.Context(), expectedGang(2))
				if result.Refused != nil || len(result.Failed) > 0 || len(p.bound) != 2 {
					t.Fatalf("result %+v, bound %v", result, p.bound)
				}
				for name, claim := range p.claims {
					if claim.Status.Allocation == nil {
						t.Errorf("claim %s has no devices", name)
					}
				}
				if len(p.claims) != 2 {
					t.Errorf("%d claims", len(p.claims))
				}
			}
			if !slices.Equal(p.sizes, test.requests) {
				t.Errorf("requests of %v pods, want %v", p.sizes, test.requests)
			}
		})
	}
}

// A placement that is refused leaves nothing: no claim of it was created, and the others are freed.
func TestRefusedPlacementOfExpectedClaims(t *testing.T) {
	for _, refusal := range []error{
		conflict, apierrors.NewInvalid(schema.GroupKind{Group: placement.GroupName, Kind: "Placement"}, "g", nil),
	} {
		p := newPlacing(newServer(claim("c")))
		p.answer = func(int) error { return refusal }
		plan := expectedGang(2)
		plan.Claims = append(plan.Claims, claimPlan("c", group))
		result := p.committer().Commit(t.Context(), plan)
		if !errors.Is(result.Refused, ErrRefused) || len(p.bound) > 0 || len(p.claims) != 1 {
			t.Errorf("result %+v, bound %v, %d claims", result, p.bound, len(p.claims))
		}
		if c := p.claims[model.Key{Namespace: "ns", Name: "c"}].Status; c.Allocation != nil || len(c.ReservedFor) > 0 {
			t.Errorf("the claim that existed keeps %+v", c)
		}
	}
}
