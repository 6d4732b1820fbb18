package disruption

import (
	"context"
	"fmt"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/client"
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
		budgets: budgets, pods: pods, write: server{set}, events: events, clock: clock.RealClock{},
		scales: scales{inf.Deployments(), inf.ReplicaSets(), inf.StatefulSets(), others},
	}
	runner := reconciler.New("disruption", c.Reconcile, reconciler.Options{Ready: inf.WaitForSync})
	c.queue, c.run = runner, runner.Run
	budgets.OnChange(c.onBudget)
	pods.OnChange(c.onPod)
	return c, nil
}

// server implements the writer with a client.Set.
type server struct{ set *client.Set }

func (s server) UpdateBudgetStatus(ctx context.Context, b *policyv1.PodDisruptionBudget) error {
	_, err := s.set.PodDisruptionBudgets(b.Namespace).UpdateStatus(ctx, b, metav1.UpdateOptions{})
	return err
}

func (s server) UpdatePodStatus(ctx context.Context, pod *core.Pod) error {
	_, err := s.set.Pods(pod.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	return err
}
