package commit

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	placement "github.com/allot-dev/allot/api/placement/v1alpha1"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/plan"
)

// PlacementAPI binds all pods of a plan or none. Only allot's own API server has it.
type PlacementAPI interface {
	// ServesPlacements reports whether the server has it.
	ServesPlacements(ctx context.Context) (bool, error)
	Place(ctx context.Context, request *placement.Placement) (*placement.Placement, error)
}

// placementSupport remembers whether the server has the PlacementAPI.
type placementSupport struct {
	api       PlacementAPI
	mu        sync.Mutex
	yes       bool
	nextCheck time.Time // time at which a server that does not have it is asked again
}

// askAgain is the time after which a server without the PlacementAPI is asked again: it may have
// been replaced by a newer one.
const askAgain = time.Minute

// placementWrite writes the binds of one plan as a whole.
type placementWrite struct {
	*Committer
	plan *plan.Plan
}

// possible reports whether the binds can be written as a whole: those of a gang or of a tree of
// groups, if the server can do that. It fails only if ctx ends.
func (w *placementWrite) possible(ctx context.Context) (bool, error) {
	together := w.plan.MinCount > 0 || w.plan.Unit.Tree
	if w.placements.api == nil || !together || len(w.plan.Pods) < 2 {
		return false, nil
	}
	s := &w.placements
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.yes || w.clock.Now().Before(s.nextCheck) {
		return s.yes, nil
	}
	err := w.repeatRead(ctx, func() (err error) {
		s.yes, err = s.api.ServesPlacements(ctx)
		return err
	})
	s.nextCheck = w.clock.Now().Add(askAgain)
	return s.yes, err
}

// reset makes the next plan ask the server again.
func (s *placementSupport) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.yes = false
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

// place repeats the request for some pods until the server answers. A repetition is harmless: the
// server waits for the end of the first request, and accepts pods that are on their nodes. Only the
// refusal of a first request shows that no pod was bound.
func (w *placementWrite) place(ctx context.Context, pods []plan.Pod) (failed map[model.Key]error, err error) {
	unit := w.plan.Unit.Key
	request := &placement.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: unit.Namespace, Name: unit.Name}}
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
			if attempt == 0 {
				return nil, err
			}
			return w.outcomes(ctx, pods, err), nil
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
// first one may have been carried out, and a pod may have changed since.
func (w *placementWrite) outcomes(ctx context.Context, pods []plan.Pod, failure error) map[model.Key]error {
	return w.tryEach(ctx, pods, func(ctx context.Context, bind *plan.Pod) error {
		return w.outcome(ctx, bind, failure)
	})
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

// isUnavailable reports whether the server has no PlacementAPI for this user. A refusal because of
// pods names them.
func isUnavailable(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
		return false
	}
	details := status.Status().Details
	return details == nil ||
		!slices.ContainsFunc(details.Causes, func(c metav1.StatusCause) bool { return strings.HasPrefix(c.Field, "spec.") })
}

// refusedPlacement returns the error of a plan of which no pod was bound.
func refusedPlacement(plan *plan.Plan, err error) error {
	if apierrors.IsConflict(err) {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return fmt.Errorf("bind the pods of %s: %w", plan.Unit, err)
}
