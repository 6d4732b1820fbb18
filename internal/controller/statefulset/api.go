package statefulset

import (
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/clock"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/controller/objects"
	"github.com/allot-dev/allot/internal/controller/ownership"
	"github.com/allot-dev/allot/internal/controller/reconciler"
	"github.com/allot-dev/allot/internal/controller/workload"
)

// New returns the controller of the StatefulSets in inf's caches. It must be called before inf is
// started.
func New(set *client.Set, inf *client.Informers, events reconciler.Recorder) (*Controller, error) {
	sets, pods := inf.StatefulSets(), inf.Pods()
	claims, revisions := inf.PersistentVolumeClaims(), inf.ControllerRevisions()
	if err := errors.Join(
		pods.AddIndex(ownership.Index, ownership.Keys[*core.Pod]),
		revisions.AddIndex(ownership.Index, ownership.Keys[*appsv1.ControllerRevision]),
	); err != nil {
		return nil, err
	}
	clock := clock.RealClock{}
	c := &Controller{
		sets: sets, pods: workload.NewPods(pods, objects.On(set.Pods), events, clock).Follow(pods.Reached), claims: claims,
		revisions: revisions,
		setServer: objects.On(set.StatefulSets), claimServer: objects.On(set.PersistentVolumeClaims),
		revisionServer: objects.On(set.ControllerRevisions),
		events:         events, clock: clock,
	}
	runner := reconciler.New("statefulset", c.Reconcile, reconciler.Options{Ready: inf.WaitForSync})
	c.queue, c.run = runner, runner.Run
	sets.OnChange(c.onSet)
	pods.OnChange(c.onPod)
	claims.OnChange(c.onClaim)
	return c, nil
}
