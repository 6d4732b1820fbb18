package replicaset

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apps "github.com/allot-dev/allot/api/apps/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/controller/batch"
	"github.com/allot-dev/allot/internal/controller/ownership"
	"github.com/allot-dev/allot/internal/controller/replica"
)

// scale creates or deletes pods until the ReplicaSet has the requested number of active ones.
func (c *Controller) scale(ctx context.Context, rs *apps.ReplicaSet, active []*core.Pod) error {
	plan := Decide(rs, active, c.related(rs), burst, c.clock.Now())
	if plan.Create > 0 {
		return batch.SlowStart(plan.Create, func(int) error {
			_, err := c.pods.Create(ctx, rs, replica.New(rs, c.Kind, &rs.Spec.Template))
			return err
		})
	}
	return batch.Parallel(len(plan.Delete), func(i int) error { return c.pods.Delete(ctx, rs, plan.Delete[i]) })
}

// related returns the pods of all ReplicaSets with the same controller as rs.
func (c *Controller) related(rs *apps.ReplicaSet) []*core.Pod {
	owner := metav1.GetControllerOfNoCopy(rs)
	if owner == nil {
		return c.pods.ByIndex(ownership.Index, string(rs.UID))
	}
	var related []*core.Pod
	for _, sibling := range c.Sets.ByIndex(ownership.Index, string(owner.UID)) {
		related = append(related, c.pods.ByIndex(ownership.Index, string(sibling.UID))...)
	}
	return related
}
