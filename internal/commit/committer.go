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
	"github.com/allot-dev/allot/internal/sched/plan"
)

// Result is the result of writing a plan.
type Result struct {
	// Refused is the reason why no pod was bound, or nil if the claims were written.
	Refused error
	// TakenBack lists the claims of a refused plan with their writes reverted.
	TakenBack []*resource.ResourceClaim
	// Failed maps the pods with failed binds to the reason.
	Failed map[model.Key]error
}

// Cache returns objects as last seen in the API.
type Cache interface {
	Claim(key model.Key) (*resource.ResourceClaim, bool)
}

// Binder binds pods.
type Binder interface {
	Bind(ctx context.Context, binding *corev1.Binding) error
	// Record writes claim-related fields into the pod status; see Placement.
	Record(ctx context.Context, bind *plan.Pod) error
	// BoundTo returns the node of a pod, or "" if the pod is not bound or does not exist.
	BoundTo(ctx context.Context, key model.Key, uid types.UID) (string, error)
	// Group reads the PodGroup or CompositePodGroup with the name of a consumer. The error is NotFound
	// if there is none.
	Group(ctx context.Context, namespace string, of model.Consumer) (Group, error)
}

// Committer writes plans. It is safe for concurrent use.
type Committer struct {
	reader

	cache  Cache
	clock  clock.Clock
	turns  *turns              // one writer per claim
	writes *semaphore.Weighted // limits concurrent writes of all plans
	// placements binds gangs as a whole, where the server can.
	placements placementSupport
}

// sleeper returns a function that sleeps by a clock.
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
