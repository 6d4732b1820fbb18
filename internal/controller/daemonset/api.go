package daemonset

import (
	"context"
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	apps "github.com/allot-dev/allot/api/apps/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/controller/expectations"
	"github.com/allot-dev/allot/internal/controller/history"
	"github.com/allot-dev/allot/internal/controller/ownership"
	"github.com/allot-dev/allot/internal/controller/reconciler"
)

// New returns the controller of the DaemonSets in inf's caches; it must be called before inf is started.
func New(set *client.Set, inf *client.Informers, events reconciler.Recorder) (*Controller, error) {
	sets, nodes, pods, revisions := inf.DaemonSets(), inf.Nodes(), inf.Pods(), inf.ControllerRevisions()
	if err := errors.Join(
		pods.AddIndex(ownership.Index, ownership.Keys[*core.Pod]),
		revisions.AddIndex(ownership.Index, ownership.Keys[*appsv1.ControllerRevision]),
	); err != nil {
		return nil, err
	}
	api := server{set}
	c := &Controller{
		sets: sets, nodes: nodes, pods: pods, revisions: revisions,
		writeSet: api, writePod: api, writeRevision: history.NewServer(set),
		events: events, clock: clock.RealClock{}, backoff: newBackoff(),
	}
	c.own = expectations.NewTracker(c.podInCache, c.clock, expectationLife)
	runner := reconciler.New("daemonset", c.Reconcile, reconciler.Options{Ready: inf.WaitForSync})
	c.queue, c.run = runner, runner.Run
	sets.OnChange(c.onSet)
	nodes.OnChange(c.onNode)
	pods.OnChange(c.onPod)
	return c, nil
}

// podInCache tells the expectations what the pod cache holds.
func (c *Controller) podInCache(namespace, name string, uid types.UID) (present, terminating bool) {
	pod, ok := c.pods.Get(namespace, name)
	if !ok || pod.UID != uid {
		return false, false
	}
	return true, pod.DeletionTimestamp != nil
}

// server is the API past the caches.
type server struct{ set *client.Set }

func (s server) CreatePod(ctx context.Context, pod *core.Pod) (*core.Pod, error) {
	return s.set.Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
}

func (s server) PatchPod(ctx context.Context, pod *core.Pod, patch []byte) error {
	_, err := s.set.Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	return err
}

func (s server) DeletePod(ctx context.Context, pod *core.Pod) error {
	return s.set.Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		Preconditions: metav1.NewUIDPreconditions(string(pod.UID)),
	})
}

func (s server) LiveDaemonSet(ctx context.Context, namespace, name string) (*apps.DaemonSet, error) {
	return s.set.DaemonSets(namespace).Get(ctx, name, metav1.GetOptions{})
}

func (s server) UpdateDaemonSetStatus(ctx context.Context, set *apps.DaemonSet) error {
	_, err := s.set.DaemonSets(set.Namespace).UpdateStatus(ctx, set, metav1.UpdateOptions{})
	return err
}
