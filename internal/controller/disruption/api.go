package disruption

import (
	"fmt"

	"k8s.io/utils/clock"

	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/controller/objects"
	"github.com/allot-dev/allot/internal/controller/reconciler"
)

// New returns the controller of the PodDisruptionBudgets in inf's caches. It must be called before
// inf is started.
func New(set *client.Set, inf *client.Informers, events reconciler.Recorder) (*Controller, error) {
	others, err := newServed(set.Config())
	if err != nil {
		return nil, fmt.Errorf("disruption controller: %w", err)
	}
	budgets, pods := inf.PodDisruptionBudgets(), inf.Pods()
	c := &Controller{
		budgets: budgets, pods: pods,
		writeBudget: objects.On(set.PodDisruptionBudgets), writePod: objects.On(set.Pods),
		events: events, clock: clock.RealClock{},
		scales: scales{inf.Deployments(), inf.ReplicaSets(), inf.StatefulSets(), others},
	}
	runner := reconciler.New("disruption", c.Reconcile, reconciler.Options{Ready: inf.WaitForSync})
	c.queue, c.run = runner, runner.Run
	budgets.OnChange(c.onBudget)
	pods.OnChange(c.onPod)
	return c, nil
}
