package statefulset

import (
	"context"
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
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
	api := server{set}
	clock := clock.RealClock{}
	c := &Controller{
		sets: sets, pods: workload.NewPods(pods, podserver.New(set), events, clock).Follow(pods.Reached), claims: claims,
		revisions: revisions,
		writeSet:  api, writeClaim: api, writeRevision: history.NewServer(set),
		events: events, clock: clock,
	}
	runner := reconciler.New("statefulset", c.Reconcile, reconciler.Options{Ready: inf.WaitForSync})
	c.queue, c.run = runner, runner.Run
	sets.OnChange(c.onSet)
	pods.OnChange(c.onPod)
	claims.OnChange(c.onClaim)
	return c, nil
}

// server implements the writers with a client.Set.
type server struct{ set *client.Set }

func (s server) CreateClaim(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	_, err := s.set.PersistentVolumeClaims(claim.Namespace).Create(ctx, claim, metav1.CreateOptions{})
	return err
}

func (s server) UpdateClaim(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	_, err := s.set.PersistentVolumeClaims(claim.Namespace).Update(ctx, claim, metav1.UpdateOptions{})
	return err
}

func (s server) LiveStatefulSet(ctx context.Context, namespace, name string) (*apps.StatefulSet, error) {
	return s.set.StatefulSets(namespace).Get(ctx, name, metav1.GetOptions{})
}

func (s server) UpdateStatefulSetStatus(ctx context.Context, set *apps.StatefulSet) error {
	_, err := s.set.StatefulSets(set.Namespace).UpdateStatus(ctx, set, metav1.UpdateOptions{})
	return err
}
