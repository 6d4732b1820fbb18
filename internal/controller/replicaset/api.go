package replicaset

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	apps "github.com/allot-dev/allot/api/apps/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/controller/objects"
	"github.com/allot-dev/allot/internal/controller/ownership"
	"github.com/allot-dev/allot/internal/controller/reconciler"
	"github.com/allot-dev/allot/internal/controller/workload"
)

// New returns the controller of the ReplicaSets in inf's caches. It must be called before inf is
// started.
func New(set *client.Set, inf *client.Informers, events reconciler.Recorder) (*Controller, error) {
	sets := inf.ReplicaSets()
	if err := sets.AddIndex(ownership.Index, ownership.Keys[*apps.ReplicaSet]); err != nil {
		return nil, err
	}
	source := Source{
		Kind: appsv1.SchemeGroupVersion.WithKind("ReplicaSet"), Sets: sets, Server: objects.On(set.ReplicaSets),
	}
	c, err := Of(source, set, inf, events)
	if err != nil {
		return nil, err
	}
	sets.OnChange(c.OnSet)
	return c, nil
}

// Of returns the controller of a source, whose pods are in inf's cache. It must be called before
// inf is started. OnSet must be called for each change of the source.
func Of(source Source, set *client.Set, inf *client.Informers, events reconciler.Recorder) (*Controller, error) {
	pods := inf.Pods()
	if err := pods.AddIndex(ownership.Index, ownership.Keys[*core.Pod]); err != nil {
		return nil, err
	}
	now := clock.RealClock{}
	var c *Controller
	reconcile := func(ctx context.Context, key types.NamespacedName) error { return c.Reconcile(ctx, key) }
	runner := reconciler.New(source.name(), reconcile, reconciler.Options{Ready: inf.WaitForSync})
	c = NewController(source, workload.NewPods(pods, objects.On(set.Pods), events, now).Follow(pods.Reached), now, runner)
	c.run = runner.Run
	pods.OnChange(c.OnPod)
	return c, nil
}
