package claim

import (
	"context"
	"errors"
	"fmt"

	resourcev1 "k8s.io/api/resource/v1"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/claims"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/features"
)

// reserve adds missing reservations to the allocated claims of a scheduled pod: its node was set
// without the scheduler, or a reservation was removed too early.
func (c *Controller) reserve(ctx context.Context, pod *core.Pod, group *scheduling.PodGroup) error {
	var failed []error
	for _, r := range claims.Resolve(pod, group) {
		if r.State != claims.Named || r.ThroughGroup && !c.features.On(features.WorkloadClaims) {
			continue
		}
		claim, ok := c.cache.Claims.Get(pod.Namespace, r.Claim)
		if !ok || r.Check(claim) != nil {
			continue
		}
		seen := claims.SeenClaim(c.features, claim)
		if !claims.NeedsReservation(pod, seen) {
			continue
		}
		add, problem := claims.Reserve(pod, group, r, seen)
		if problem != nil || add == nil {
			// full, or without its PodGroup: the node reports it, and a change triggers an event
			continue
		}
		if err := c.addConsumer(ctx, claim, *add); client.IgnoreNotFound(err) != nil {
			failed = append(failed, fmt.Errorf("pod %s/%s: reserve claim %s: %w", pod.Namespace, pod.Name, claim.Name, err))
		}
	}
	return errors.Join(failed...)
}

func (c *Controller) addConsumer(
	ctx context.Context, claim *resource.ResourceClaim, add resourcev1.ResourceClaimConsumerReference,
) error {
	updated := claim.DeepCopy()
	updated.Status.ReservedFor = append(updated.Status.ReservedFor, add)
	_, err := c.server.Claims.UpdateClaimStatus(ctx, updated)
	return err
}
