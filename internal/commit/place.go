package commit

import (
	"context"
	"errors"
	"fmt"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	placement "github.com/allot-dev/allot/api/placement/v1alpha2"
	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/plan"
)

// errNoClaims means that nothing was written, because the server does not create claims with the
// placement.
var errNoClaims = errors.New("claims cannot be created with the binds")

// placementWrite writes the binds of one plan as a whole, and creates claims with them.
type placementWrite struct {
	*Committer
	plan *plan.Plan
	// claims are the claims to create with their allocations. They are those of the plan that are
	// expected, or none.
	claims []resource.ResourceClaim
}

// possible reports whether the binds can be written as a whole: those of a gang or of a tree of
// groups, or with claims, if the server can do that. It fails only if ctx ends.
func (w *placementWrite) possible(ctx context.Context) (bool, error) {
	together := (w.plan.MinCount > 0 || w.plan.Unit.Tree) && len(w.plan.Pods) > 1
	if !together && len(w.claims) == 0 {
		return false, nil
	}
	return w.served(ctx)
}

// served reports whether the server has the API. It fails only if ctx ends. Plans that are written
// at the same time may each ask the server.
func (w *placementWrite) served(ctx context.Context) (bool, error) {
	s := &w.placements
	if yes, known := s.known(w.clock.Now()); known {
		return yes, nil
	}
	var yes bool
	err := w.repeatRead(ctx, func() (err error) {
		yes, err = s.api.ServesPlacements(ctx)
		return err
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.yes, s.nextCheck = yes, w.clock.Now().Add(askAgain)
	return yes, err
}

// createClaims takes the expected claims of the plan to be created with its binds. It reports
// whether there are any and the server can do that.
func (w *placementWrite) createClaims(ctx context.Context) (bool, error) {
	var claims []resource.ResourceClaim
	for i := range w.plan.Claims {
		if isExpected(&w.plan.Claims[i]) {
			claims = append(claims, w.allocated(&w.plan.Claims[i]))
		}
	}
	if n := len(claims); n == 0 || n > placement.MaxClaims || len(w.plan.Pods) > placement.MaxPods ||
		!w.placements.createsClaims() {
		return false, nil
	}
	served, err := w.served(ctx)
	if served {
		w.claims = claims
	}
	return served, err
}

// isExpected reports whether the plan creates a claim that is generated for a pod.
func isExpected(claim *plan.Claim) bool {
	return claim.Make != nil && claim.Make.Generated != nil && claim.Allocation != nil
}

// allocated returns an expected claim as the plan creates it.
func (w *placementWrite) allocated(want *plan.Claim) resource.ResourceClaim {
	made := written{claim: newObject(want)}
	w.apply(&made, want)
	return *made.claim
}

// planBefore returns the plan without the claims that are created with its binds.
func (w *placementWrite) planBefore() *plan.Plan {
	if len(w.claims) == 0 {
		return w.plan
	}
	before := *w.plan
	before.Claims = nil
	for i := range w.plan.Claims {
		if !isExpected(&w.plan.Claims[i]) {
			before.Claims = append(before.Claims, w.plan.Claims[i])
		}
	}
	return &before
}

// write binds all pods of the plan or none. A plan that is too large for one request is written in
// as few as possible; if one after the first is refused, its pods count as failed.
func (w *placementWrite) write(ctx context.Context) Result {
	result := Result{Failed: map[model.Key]error{}}
	limit := placement.MaxPods
	for left := w.plan.Pods; len(left) > 0; {
		n := min(len(left), limit)
		failed, err := w.place(ctx, left[:n])
		switch {
		case len(w.claims) > 0 && w.createsNone(err):
			return Result{Refused: errNoClaims}
		case n > 1 && apierrors.IsRequestEntityTooLargeError(err):
			limit = n / 2
			continue
		case isUnavailable(err):
			w.placements.reset()
			failed = w.bindEach(ctx, left)
			n = len(left)
		case err != nil && ctx.Err() == nil && len(left) == len(w.plan.Pods):
			return Result{Refused: refusedPlacement(w.plan, err)}
		case err != nil:
			failed = failAll(left, err)
			n = len(left)
		}
		maps.Copy(result.Failed, failed)
		left = left[n:]
	}
	return result
}

// createsNone reports whether a request was refused because of the server, not of the plan, and
// remembers what is lasting.
func (w *placementWrite) createsNone(err error) bool {
	switch {
	case apierrors.IsMethodNotSupported(err):
		w.placements.refusedClaims()
		return true
	case isUnavailable(err):
		w.placements.reset()
		return true
	}
	return apierrors.IsRequestEntityTooLargeError(err)
}

// place repeats the request for some pods until the server answers. A repetition is harmless: the
// server waits for the end of the first request, and accepts pods that are on their nodes. The refusal
// of a first request shows that no pod was bound. After a later one, the pods or the claims that the
// first one has written are looked for.
func (w *placementWrite) place(ctx context.Context, pods []plan.Pod) (failed map[model.Key]error, err error) {
	unit := w.plan.Unit.Key
	request := &placement.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: unit.Namespace, Name: unit.Name}}
	request.Spec.Claims = w.claims
	for i := range pods {
		request.Spec.Pods = append(request.Spec.Pods,
			placement.PodPlacement{Name: pods[i].Pod.Name, UID: pods[i].UID, NodeName: pods[i].Node})
	}
	for attempt := 0; ; attempt++ {
		answer, err := w.send(ctx, request)
		if err == nil {
			return unbound(pods, answer), nil
		}
		if client.IsRefusal(err) && !apierrors.IsTooManyRequests(err) {
			if attempt > 0 {
				return w.outcomes(ctx, pods, err)
			}
			return nil, err
		}
		if canceled := w.pause(ctx, attempt); canceled != nil {
			return nil, errors.Join(canceled, err)
		}
	}
}

// send sends one request, within the limit of concurrent writes.
func (w *placementWrite) send(ctx context.Context, request *placement.Placement) (*placement.Placement, error) {
	if err := w.writes.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer w.writes.Release(1)
	return w.placements.api.Place(ctx, request)
}

// outcomes returns the pods that are not on their nodes, after a repeated request was refused. The
// first one may have been carried out, and a pod may have changed since. It returns the refusal if
// the first one was not carried out, because there is none of the claims that come before the pods.
func (w *placementWrite) outcomes(
	ctx context.Context, pods []plan.Pod, refusal error,
) (failed map[model.Key]error, err error) {
	created, err := w.anyCreated(ctx)
	switch {
	case err != nil:
		return nil, errors.Join(refusal, err)
	case len(w.claims) > 0 && !created:
		return nil, refusal
	}
	return w.tryEach(ctx, pods, func(ctx context.Context, bind *plan.Pod) error {
		return w.outcome(ctx, bind, refusal)
	}), nil
}

// anyCreated reports whether one of the claims exists with its devices. It fails only if ctx ends.
func (w *placementWrite) anyCreated(ctx context.Context) (bool, error) {
	for i := range w.plan.Claims {
		want := &w.plan.Claims[i]
		if !isExpected(want) {
			continue
		}
		claim, err := w.lookUp(ctx, want.Key)
		if err != nil {
			return false, err
		}
		if claim != nil && claim.Status.Allocation != nil && verify(claim, want) == nil {
			return true, nil
		}
	}
	return false, nil
}

// unbound returns the pods that the server did not bind, with the reasons.
func unbound(pods []plan.Pod, answer *placement.Placement) map[model.Key]error {
	failed := map[model.Key]error{}
	for _, u := range answer.Status.Unbound {
		failed[model.Key{Namespace: pods[0].Pod.Namespace, Name: u.Name}] = fmt.Errorf("%w: bind pod %s: %s", ErrRefused,
			u.Name, u.Message)
	}
	return failed
}

func failAll(pods []plan.Pod, err error) map[model.Key]error {
	failed := map[model.Key]error{}
	for i := range pods {
		failed[pods[i].Pod] = err
	}
	return failed
}

// refusedPlacement returns the error of a plan of which no pod was bound.
func refusedPlacement(plan *plan.Plan, err error) error {
	if apierrors.IsConflict(err) || apierrors.IsInvalid(err) {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return fmt.Errorf("bind the pods of %s: %w", plan.Unit, err)
}
