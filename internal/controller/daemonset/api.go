package daemonset

import (
	"context"
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	apps "github.com/allot-dev/allot/api/apps/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/controller/history"
	"github.com/allot-dev/allot/internal/controller/ownership"
	"github.com/allot-dev/allot/internal/controller/podserver"
	"github.com/allot-dev/allot/internal/controller/reconciler"
	"github.com/allot-dev/allot/internal/controller/workload"
)

// New returns the controller of the DaemonSets in inf's caches. It must be called before inf is
// started.
func New(set *client.Set, inf *client.Informers, events reconciler.Recorder) (*Controller, error) {
	sets, nodes, pods, revisions := inf.DaemonSets(), inf.Nodes(), inf.Pods(), inf.ControllerRevisions()
	if err := errors.Join(
		pods.AddIndex(ownership.Index, ownership.Keys[*core.Pod]),
		revisions.AddIndex(ownership.Index, ownership.Keys[*appsv1.ControllerRevision]),
	); err != nil {
		return nil, err
	}
	api := server{set}
	clock := clock.RealClock{}
	c := &Controller{
		sets: sets, nodes: nodes, pods: workload.NewPods(pods, podserver.New(set), events, clock).Follow(pods.Reached),
		revisions: revisions,
		writeSet:  api, writeRevision: history.NewServer(set),
		events: events, clock: clock, backoff: newBackoff(),
	}
	runner := reconciler.New("daemonset", c.Reconcile, reconciler.Options{Ready: inf.WaitForSync})
	c.queue, c.run = runner, runner.Run
	sets.OnChange(c.onSet)
	nodes.OnChange(c.onNode)
	pods.OnChange(c.onPod)
	return c, nil
}

// server implements the writers with a client.Set.
type server struct{ set *client.Set }

func (s server) LiveDaemonSet(ctx context.Context, namespace, name string) (*apps.DaemonSet, error) {
	return s.set.DaemonSets(namespace).Get(ctx, name, metav1.GetOptions{})
}

func (s server) UpdateDaemonSetStatus(ctx context.Context, set *apps.DaemonSet) error {
	_, err := s.set.DaemonSets(set.Namespace).UpdateStatus(ctx, set, metav1.UpdateOptions{})
	return err
}
