package commit

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
)

// Result says what became of a plan.
type Result struct {
	// Refused is why no bind was tried; nil if the claims were written.
	Refused error
	// TakenBack are the claims of a refused plan that had been written, as they are after that was undone.
	TakenBack []*resource.ResourceClaim
	// Failed are the binds that were not written, with the reason.
	Failed map[model.Key]error
}

// Cache is how the API was last seen.
type Cache interface {
	Claim(key model.Key) (*resource.ResourceClaim, bool)
}

// Binder writes bindings.
type Binder interface {
	Bind(ctx context.Context, binding *corev1.Binding) error
	// Record writes into a pod's status what of its claims matters on the node: see Placement.
	Record(ctx context.Context, bind *sched.Placement) error
	// BoundTo says on which node the API has a pod: "" if on none, or if the pod is gone.
	BoundTo(ctx context.Context, key model.Key, uid types.UID) (string, error)
	// MinCount returns the minCount that the API has for the PodGroup, 0 if that is no gang or does not exist.
	MinCount(ctx context.Context, key model.Key, uid types.UID) (int, error)
}

// Committer writes plans. It may write several at a time.
type Committer struct {
	claims ClaimAPI
	binds  Binder
	cache  Cache
	clock  clock.Clock
	turns  *turns              // one writer a claim
	writes *semaphore.Weighted // bounds the writes under way, over all plans
	sleep  func(context.Context, time.Duration) error
}

// retryDelay is the first pause before a write is tried again, or looked for; it doubles until it is 32 times that.
const retryDelay = 20 * time.Millisecond

// pause waits before the next attempt, longer each time.
func (c *Committer) pause(ctx context.Context, attempt int) error {
	return c.sleep(ctx, retryDelay<<min(attempt, maxAttempts))
}

// sleeper waits by a clock.
func sleeper(clk clock.Clock) func(context.Context, time.Duration) error {
	return func(ctx context.Context, d time.Duration) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-clk.After(d):
			return nil
		}
	}
}
