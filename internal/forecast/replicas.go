package forecast

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	apps "github.com/allot-dev/allot/api/apps/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/controller/deployment"
	"github.com/allot-dev/allot/internal/controller/replica"
	"github.com/allot-dev/allot/internal/controller/replicaset"
)

// burst limits the pods that one pass creates or deletes.
const burst = 500

// deployment takes the next step of a Deployment's rollout.
func (s *simulation) deployment(owner ownerKey, d *apps.Deployment) error {
	sets := s.world.ReplicaSets.ByIndex(byOwner, string(d.UID))
	left := map[string]bool{}
	for _, rs := range sets {
		left[rs.Name] = slices.ContainsFunc(s.world.Pods.ByIndex(byOwner, string(rs.UID)),
			func(pod *core.Pod) bool { return !pod.Finished() })
	}
	plan, err := deployment.Decide(deployment.Gathered{Deployment: d, Sets: sets, PodsLeft: left, Now: s.now})
	if err != nil {
		return fmt.Errorf("%s: %w", owner, err)
	}
	if plan.Create != nil && !s.createFor(owner, plan.Create) {
		return nil
	}
	for _, update := range plan.Update {
		s.put(update.Set)
	}
	for _, rs := range plan.Delete {
		s.remove(rs, owner.String()+" does not keep it")
	}
	if plan.Changed {
		s.put(plan.Deployment)
	}
	return nil
}

// replicaSet makes one pass over a ReplicaSet: its pods, then its status.
func (s *simulation) replicaSet(owner ownerKey, rs *apps.ReplicaSet) {
	pods := replicaset.Sort(s.world.Pods.ByIndex(byOwner, string(rs.UID)))
	plan := replicaset.Decide(rs, pods.Active, pods.Active, burst, s.now)
	for _, pod := range plan.Delete {
		s.recordEnd(pod, Delete, owner.String()+" is scaled down")
		s.removePod(pod)
	}
	for range plan.Create {
		if !s.createFor(owner, replica.New(rs, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"), &rs.Spec.Template)) {
			break
		}
	}
	pods = replicaset.Sort(s.world.Pods.ByIndex(byOwner, string(rs.UID)))
	status := replicaset.Status(rs, pods, nil, s.now)
	if !equality.Semantic.DeepEqual(status, rs.Status) {
		updated := *rs
		updated.Status = status
		s.put(&updated)
	}
}
