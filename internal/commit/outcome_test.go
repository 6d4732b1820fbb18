package commit

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/holding"
	"github.com/allot-dev/allot/internal/sched/plan"
)

var errCutOff = errors.New("the connection was cut off")

// outage is a server that makes writes without a response, and is not available for a while after
// each: reads get no response, and other writes are not made.
type outage struct {
	*server
	reads int // that get no response after a write
	down  int
	lost  int // writes whose response will be lost
}

func (o *outage) Get(ctx context.Context, key model.Key) (*resource.ResourceClaim, error) {
	if o.down > 0 {
		o.down--
		return nil, errCutOff
	}
	return o.server.Get(ctx, key)
}

func (o *outage) UpdateStatus(ctx context.Context, claim *resource.ResourceClaim) (*resource.ResourceClaim, error) {
	if o.down > 0 {
		return nil, errCutOff
	}
	written, err := o.server.UpdateStatus(ctx, claim)
	if o.lost > 0 && err == nil {
		o.lost--
		o.down = o.reads
		return nil, errCutOff
	}
	return written, err
}

func (o *outage) Bind(ctx context.Context, b *corev1.Binding) error {
	if err := o.server.Bind(ctx, b); err != nil {
		return err
	}
	o.failingReads = o.reads
	return errCutOff
}

func (o *outage) committer() *Committer {
	c := o.server.committer()
	c.claims, c.binds = o, o
	return c
}

// A bind without a response counts, however long it takes until the server can be read.
func TestOutcomeOfBindIsRead(t *testing.T) {
	for _, reads := range []int{0, 1, 3 * maxAttempts} {
		o := &outage{server: newServer(), reads: reads}
		if result := o.committer().Commit(t.Context(), gang(1)); len(result.Failed) > 0 {
			t.Errorf("%d reads without an answer: failed = %v", reads, result.Failed)
		}
	}
}

// A bind that was not made and got no response fails. So does the bind of a pod that is bound to
// another node, with its own error.
func TestOutcomeOfFailedBind(t *testing.T) {
	s := newServer()
	s.onBind = func(int, string) error { return errCutOff }
	s.failingReads = 2
	s.bound[model.Key{Namespace: "ns", Name: "p-1"}] = "n2"
	failed := s.committer().Commit(t.Context(), gang(2)).Failed
	if err := failed[model.Key{Namespace: "ns", Name: "p-0"}]; !errors.Is(err, errCutOff) || errors.Is(err, ErrElsewhere) {
		t.Errorf("a bind that was not made: %v", err)
	}
	if err := failed[model.Key{Namespace: "ns", Name: "p-1"}]; !errors.Is(err, ErrElsewhere) {
		t.Errorf("a pod on another node: %v", err)
	}
}

// If the process ends while the outcome is being read, the outcome is unknown, and the error says
// so.
func TestOutcomeIsUnknownAfterCancel(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	s := newServer()
	s.onBind = func(int, string) error { end(); return errCutOff }
	s.failingReads = 1 << 30
	if failed := s.committer().Commit(ctx, gang(1)).Failed; len(failed) != 1 {
		t.Errorf("failed = %v", failed)
	}
}

// An allocation without a response is valid, and is reverted if its plan fails.
func TestOutcomeOfAllocationIsRead(t *testing.T) {
	a := claimPlan("a", group)
	o := &outage{server: newServer(claim("a")), reads: 3 * maxAttempts, lost: 1}
	if result := o.committer().Commit(t.Context(), gang(1, a)); result.Refused != nil || len(result.Failed) > 0 {
		t.Errorf("result = %+v", result)
	}

	o = &outage{server: newServer(claim("a")), reads: 3 * maxAttempts, lost: 1}
	result := o.committer().Commit(t.Context(), gang(1, a, claimPlan("gone", group)))
	if result.Refused == nil {
		t.Fatalf("result = %+v", result)
	}
	now := o.claims[a.Key]
	if now.Status.Allocation != nil || len(result.TakenBack) != 1 ||
		result.TakenBack[0].ResourceVersion != now.ResourceVersion {
		t.Errorf("the claim has %+v, told %v", now.Status, result.TakenBack)
	}
}

// The outcome of a deallocation without a response is read.
func TestOutcomeOfDeallocationIsRead(t *testing.T) {
	a := claimPlan("a", group)
	o := &outage{server: newServer(claim("a")), reads: 3 * maxAttempts}
	twoClaims := plan.Plan{Claims: []plan.Claim{a, claimPlan("gone", group)}}
	writes := 0
	o.onWrite = func(string) error {
		if writes++; writes == 1 {
			o.lost = 1 // the next one, which deallocates
		}
		return nil
	}
	result := o.committer().Commit(t.Context(), &twoClaims)
	now := o.claims[a.Key]
	if now.Status.Allocation != nil || len(result.TakenBack) != 1 ||
		result.TakenBack[0].ResourceVersion != now.ResourceVersion {
		t.Errorf("the claim has %+v, told %v after %v", now.Status, result.TakenBack, o.log)
	}
}

// The outcome of a release of devices without a response is read too.
func TestOutcomeOfReleaseIsRead(t *testing.T) {
	held := claim("c")
	held.Status.Allocation = claimPlan("c").Allocation.Result()
	held.Status.ReservedFor = []model.Consumer{group}
	o := &outage{server: newServer(held), reads: 3 * maxAttempts, lost: 1}
	seen, err := o.committer().GiveBack(t.Context(),
		&holding.Claim{Key: keyOf(held), UID: held.UID, Holders: []model.Consumer{group}})
	if err != nil || seen == nil || seen.Status.Allocation != nil || len(seen.Status.ReservedFor) > 0 {
		t.Errorf("%+v, %v", seen, err)
	}
}

func TestRefused(t *testing.T) {
	for err, want := range map[error]bool{
		errCutOff:                               false,
		apierrors.NewTimeoutError("slow", 0):    false,
		apierrors.NewInternalError(errCutOff):   false,
		apierrors.NewServiceUnavailable("away"): false,
		apierrors.NewBadRequest("no"):           true,
		ErrRefused:                              true,
	} {
		if got := refused(err); got != want {
			t.Errorf("refused(%v) = %v", err, got)
		}
	}
}
