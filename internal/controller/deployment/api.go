package deployment

import (
	"errors"

	"k8s.io/utils/clock"

	apps "github.com/allot-dev/allot/api/apps/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/controller/objects"
	"github.com/allot-dev/allot/internal/controller/ownership"
	"github.com/allot-dev/allot/internal/controller/reconciler"
)

// New returns the controller of the Deployments in inf's caches. It must be called before inf is
// started.
func New(set *client.Set, inf *client.Informers, events reconciler.Recorder) (*Controller, error) {
	deployments, sets, pods := inf.Deployments(), inf.ReplicaSets(), inf.Pods()
	err := errors.Join(
		sets.AddIndex(ownership.Index, ownership.Keys[*apps.ReplicaSet]),
		pods.AddIndex(ownership.Index, ownership.Keys[*core.Pod]),
	)
	if err != nil {
		return nil, err
	}
	c := &Controller{
		deployments: deployments, sets: sets, pods: pods,
		server: objects.On(set.Deployments), setServer: objects.On(set.ReplicaSets), events: events,
		clock: clock.RealClock{},
	}
	runner := reconciler.New("deployment", c.Reconcile, reconciler.Options{Ready: inf.WaitForSync})
	c.queue, c.run = runner, runner.Run
	deployments.OnChange(c.onDeployment)
	sets.OnChange(c.onSet)
	return c, nil
}
