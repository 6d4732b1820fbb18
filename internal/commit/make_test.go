package commit

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/holding"
	"github.com/allot-dev/allot/internal/sched/plan"
)

// extendedPlan returns a plan for one pod, with a claim for count devices in place of extended
// resources.
func extendedPlan(count int64) *plan.Plan {
	made := &model.Claim{Key: model.Key{Namespace: "ns", Name: "p-extended-x"}, Controller: "p-uid"}
	made.Requests = []model.Request{
		{Name: "container-0-request-0", Alternatives: []model.Alternative{{Class: "gpu", Count: count}}},
	}
	claim := plan.Claim{
		Key:        made.Key,
		Make:       made,
		Allocation: claimPlan("p-extended-x").Allocation,
		Reserve:    []model.Consumer{model.PodConsumer("p", "p-uid")},
	}
	return &plan.Plan{
		Unit:   model.UnitKey{Key: model.Key{Namespace: "ns", Name: "p"}},
		Claims: []plan.Claim{claim},
		Pods: []plan.Pod{{
			Pod: model.Key{Namespace: "ns", Name: "p"}, UID: "p-uid", Node: "n1",
			Extended: &corev1.PodExtendedResourceClaimStatus{ResourceClaimName: "p-extended-x"},
		}},
	}
}

// createLeftover creates the claim for count devices that an earlier plan has created.
func (s *server) createLeftover(count int64) {
	claim := extendedPlan(count).Claims[0].Make.ForExtended(model.PodConsumer("p", "p-uid"))
	claim.UID, claim.ResourceVersion = "left", "1"
	s.claims[keyOf(claim)] = claim
}

func TestClaimsAreMade(t *testing.T) {
	const bound = `; status p-extended-x; extended p p-extended-x, bound to ""`
	for _, c := range []struct {
		name   string
		before func(*server)
		want   string
		uid    string
	}{
		{"nothing is there", func(*server) {}, "create p-extended-x" + bound, "made-1"},
		{"the answer is lost", func(s *server) {
			s.onWrite = func(what string) error {
				if strings.HasPrefix(what, "create") {
					return apierrors.NewTimeoutError("lost", 0)
				}
				return nil
			}
		}, "create p-extended-x" + bound, "made-1"},
		{"what is wanted is there", func(s *server) { s.createLeftover(1) }, bound[2:], "left"},
		{"something else is there", func(s *server) { s.createLeftover(2) },
			"update p-extended-x; delete p-extended-x; create p-extended-x" + bound, "made-1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newServer()
			c.before(s)
			plan := extendedPlan(1)
			if result := s.committer().Commit(context.Background(), plan); result.Refused != nil || len(result.Failed) > 0 {
				t.Fatal(result)
			}
			if got := strings.Join(s.log, "; "); !strings.HasPrefix(got, c.want) {
				t.Errorf("wrote %s, want %s", got, c.want)
			}
			claim := s.claims[plan.Claims[0].Key]
			if string(claim.UID) != c.uid || claim.Status.Allocation == nil || len(claim.Status.ReservedFor) != 1 {
				t.Errorf("claim %s: %v", claim.UID, claim.Status)
			}
			if claim.Annotations[resourcev1.ExtendedResourceClaimAnnotation] != "true" || len(claim.Finalizers) != 1 {
				t.Errorf("annotations %v, finalizers %v", claim.Annotations, claim.Finalizers)
			}
		})
	}
}

// An existing claim of this name that belongs to another owner, or is allocated, is not changed.
func TestForeignClaimFailsThePlan(t *testing.T) {
	for _, name := range []string{"owner", "devices"} {
		s := newServer()
		s.createLeftover(2)
		plan := extendedPlan(1)
		claim := s.claims[plan.Claims[0].Key]
		if name == "owner" {
			claim.OwnerReferences[0].UID = "other"
		} else {
			claim.Status.Allocation = plan.Claims[0].Allocation.Result()
		}
		result := s.committer().Commit(context.Background(), plan)
		if !errors.Is(result.Refused, ErrRefused) || len(s.log) > 0 {
			t.Errorf("%s: %v, wrote %v", name, result.Refused, s.log)
		}
	}
}

// A failed plan deletes the claims that it created, and so does the release of a plan.
func TestCreatedClaimsAreDeletedWithThePlan(t *testing.T) {
	s := newServer()
	plan := extendedPlan(1)
	plan.Claims = append(plan.Claims, claimPlan("gone", model.PodConsumer("p", "p-uid")))
	if result := s.committer().Commit(context.Background(), plan); !errors.Is(result.Refused, ErrRefused) {
		t.Fatal(result)
	}
	if len(s.claims) > 0 {
		t.Errorf("left %v after %v", s.claims, s.log)
	}

	plan = extendedPlan(1)
	if result := s.committer().Claims(context.Background(), plan); result.Refused != nil {
		t.Fatal(result)
	}
	made := s.claims[plan.Claims[0].Key]
	held := &holding.Claim{Key: keyOf(made), UID: made.UID, Holders: plan.Claims[0].Reserve}
	if claim, err := s.committer().GiveBack(context.Background(), held); err != nil || claim.Status.Allocation != nil {
		t.Errorf("%v, %v", claim, err)
	}
	if len(s.claims) > 0 {
		t.Errorf("left %v after %v", s.claims, s.log)
	}
}

// A claim that replaced one that a plan had created remains if the plan fails.
func TestReplacedClaimStays(t *testing.T) {
	s := newServer()
	plan := extendedPlan(1)
	plan.Claims = append(plan.Claims, claimPlan("gone", model.PodConsumer("p", "p-uid")))
	key := plan.Claims[0].Key
	s.onWrite = func(what string) error {
		if what == "status "+key.Name {
			other := s.claims[key].DeepCopy()
			other.UID, other.ResourceVersion, other.OwnerReferences = "other", "7", nil
			other.Status = resource.ResourceClaimStatus{}
			s.claims[key] = other
		}
		return nil
	}
	if result := s.committer().Commit(context.Background(), plan); !errors.Is(result.Refused, ErrRefused) {
		t.Fatal(result)
	}
	if claim := s.claims[key]; claim == nil || claim.UID != "other" || claim.ResourceVersion != "7" {
		t.Errorf("somebody else's claim is now %v, after %v", claim, s.log)
	}
}
