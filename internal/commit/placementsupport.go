package commit

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	placement "github.com/allot-dev/allot/api/placement/v1alpha2"
)

// PlacementAPI creates the claims and binds the pods of a plan, all or none. Only allot's own API
// server has it.
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
	noClaims  bool      // the server creates no claims with placements
	nextCheck time.Time // time at which a server that does not have it is asked again
}

// askAgain is the time after which a server without the PlacementAPI is asked again: it may have
// been replaced by a newer one.
const askAgain = time.Minute

// known returns whether the server has the API, and whether that is known without asking it.
func (s *placementSupport) known(now time.Time) (yes, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.yes, s.yes || s.api == nil || now.Before(s.nextCheck)
}

// reset makes the next plan ask the server again.
func (s *placementSupport) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.yes = false
}

// createsClaims reports whether the server creates claims with placements, as far as is known.
func (s *placementSupport) createsClaims() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.noClaims
}

// refusedClaims remembers that the server creates no claims with placements: it is not alone on its
// etcd, and never will be again.
func (s *placementSupport) refusedClaims() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noClaims = true
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
