package replicaset

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	apps "github.com/allot-dev/allot/api/apps/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/controller/ownership"
	"github.com/allot-dev/allot/internal/controller/podserver"
	"github.com/allot-dev/allot/internal/controller/reconciler"
	"github.com/allot-dev/allot/internal/controller/workload"
)

// New returns the controller of the ReplicaSets in inf's caches. It must be called before inf is
// started.
func New(set *client.Set, inf *client.Informers, events reconciler.Recorder) (*Controller, error) {
	pods, sets := inf.Pods(), inf.ReplicaSets()
	if err := errors.Join(
		pods.AddIndex(ownership.Index, ownership.Keys[*core.Pod]),
		sets.AddIndex(ownership.Index, ownership.Keys[*apps.ReplicaSet]),
	); err != nil {
		return nil, err
	}
	api := server{set}
	clock := clock.RealClock{}
	c := &Controller{
		pods: workload.NewPods(pods, podserver.New(set), events, clock).Follow(
			pods.Reached,
		), sets: sets, writeSet: api, events: events,
		clock: clock,
	}
	runner := reconciler.New("replicaset", c.Reconcile, reconciler.Options{Ready: inf.WaitForSync})
	c.queue, c.run = runner, runner.Run
	pods.OnChange(c.onPod)
	sets.OnChange(c.onSet)
	return c, nil
}

// server implements the writer with a client.Set.
type server struct{ set *client.Set }

func (s server) LiveReplicaSet(ctx context.Context, namespace, name string) (*apps.ReplicaSet, error) {
	return s.set.ReplicaSets(namespace).Get(ctx, name, metav1.GetOptions{})
}

func (s server) UpdateReplicaSetStatus(ctx context.Context, rs *apps.ReplicaSet) error {
	_, err := s.set.ReplicaSets(rs.Namespace).UpdateStatus(ctx, rs, metav1.UpdateOptions{})
	return err
}
