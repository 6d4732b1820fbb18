package deployment

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	apps "github.com/allot-dev/allot/api/apps/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/client"
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
	api := server{set}
	c := &Controller{
		deployments: deployments, sets: sets, pods: pods,
		writeSet: api, writeStatus: api, live: api, events: events,
		clock: clock.RealClock{},
	}
	runner := reconciler.New("deployment", c.Reconcile, reconciler.Options{Ready: inf.WaitForSync})
	c.queue, c.run = runner, runner.Run
	deployments.OnChange(c.onDeployment)
	sets.OnChange(c.onSet)
	return c, nil
}

// server implements the writers with a client.Set.
type server struct{ set *client.Set }

func (s server) CreateSet(ctx context.Context, rs *apps.ReplicaSet) error {
	_, err := s.set.ReplicaSets(rs.Namespace).Create(ctx, rs, metav1.CreateOptions{})
	return err
}

func (s server) UpdateSet(ctx context.Context, rs *apps.ReplicaSet) error {
	_, err := s.set.ReplicaSets(rs.Namespace).Update(ctx, rs, metav1.UpdateOptions{})
	return err
}

func (s server) PatchSet(ctx context.Context, rs *apps.ReplicaSet, patch []byte) error {
	_, err := s.set.ReplicaSets(rs.Namespace).Patch(
		ctx,
		rs.Name,
		types.StrategicMergePatchType,
		patch,
		metav1.PatchOptions{},
	)
	return err
}

func (s server) DeleteSet(ctx context.Context, rs *apps.ReplicaSet) error {
	return s.set.ReplicaSets(rs.Namespace).Delete(ctx, rs.Name, metav1.DeleteOptions{
		Preconditions: metav1.NewUIDPreconditions(string(rs.UID)),
	})
}

func (s server) UpdateDeploymentStatus(ctx context.Context, d *apps.Deployment) error {
	_, err := s.set.Deployments(d.Namespace).UpdateStatus(ctx, d, metav1.UpdateOptions{})
	return err
}

func (s server) LiveDeployment(ctx context.Context, namespace, name string) (*apps.Deployment, error) {
	return s.set.Deployments(namespace).Get(ctx, name, metav1.GetOptions{})
}

func (s server) LiveSet(ctx context.Context, namespace, name string) (*apps.ReplicaSet, error) {
	return s.set.ReplicaSets(namespace).Get(ctx, name, metav1.GetOptions{})
}
