package replicationcontroller

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	apps "github.com/allot-dev/allot/api/apps/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/controller/objects"
	"github.com/allot-dev/allot/internal/controller/ownership"
	"github.com/allot-dev/allot/internal/controller/reconciler"
	"github.com/allot-dev/allot/internal/controller/replicaset"
)

// New returns the controller of the ReplicationControllers in inf's caches. It must be called
// before inf is started.
func New(set *client.Set, inf *client.Informers, events reconciler.Recorder) (*replicaset.Controller, error) {
	controllers := inf.ReplicationControllers()
	if err := controllers.AddIndex(ownership.Index, ownership.Keys[*core.ReplicationController]); err != nil {
		return nil, err
	}
	c, err := replicaset.Of(source(controllers, objects.On(set.ReplicationControllers)), set, inf, recorder{events})
	if err != nil {
		return nil, err
	}
	controllers.OnChange(func(before, after *core.ReplicationController) { c.OnSet(toSet(before), toSet(after)) })
	return c, nil
}

// cache is the cache of ReplicationControllers. It must have ownership.Index.
type cache interface {
	objects.Getter[*core.ReplicationController]
	objects.Index[*core.ReplicationController]
	objects.Namespaced[*core.ReplicationController]
}

// source returns the ReplicationControllers as ReplicaSets.
func source(controllers cache, api objects.Owner[*core.ReplicationController]) replicaset.Source {
	return replicaset.Source{
		Kind: corev1.SchemeGroupVersion.WithKind("ReplicationController"),
		Sets: replicaSetCache{controllers}, Server: setServer{api}, WithoutTerminating: true,
	}
}

// replicaSetCache implements replicaset.Cache.
type replicaSetCache struct{ controllers cache }

func (c replicaSetCache) Get(namespace, name string) (*apps.ReplicaSet, bool) {
	rc, ok := c.controllers.Get(namespace, name)
	return toSet(rc), ok
}

func (c replicaSetCache) ByIndex(index, key string) []*apps.ReplicaSet {
	return toSets(c.controllers.ByIndex(index, key))
}

func (c replicaSetCache) InNamespace(namespace string) []*apps.ReplicaSet {
	return toSets(c.controllers.InNamespace(namespace))
}

func toSets(controllers []*core.ReplicationController) []*apps.ReplicaSet {
	sets := make([]*apps.ReplicaSet, len(controllers))
	for i, rc := range controllers {
		sets[i] = toSet(rc)
	}
	return sets
}

// setServer reads and writes ReplicationControllers as ReplicaSets.
type setServer struct {
	api objects.Owner[*core.ReplicationController]
}

// Live implements objects.Reader.
func (s setServer) Live(ctx context.Context, namespace, name string) (*apps.ReplicaSet, error) {
	rc, err := s.api.Live(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	return toSet(rc), nil
}

// UpdateStatus implements objects.StatusUpdater.
func (s setServer) UpdateStatus(ctx context.Context, rs *apps.ReplicaSet) (*apps.ReplicaSet, error) {
	rc, err := s.api.UpdateStatus(ctx, fromSet(rs))
	if err != nil {
		return nil, err
	}
	return toSet(rc), nil
}

// recorder records events about ReplicationControllers that are seen as ReplicaSets.
type recorder struct{ reconciler.Recorder }

// Eventf implements reconciler.Recorder.
func (r recorder) Eventf(object runtime.Object, eventtype, reason, messageFmt string, args ...any) {
	if rs, ok := object.(*apps.ReplicaSet); ok {
		object = fromSet(rs)
	}
	r.Recorder.Eventf(object, eventtype, reason, messageFmt, args...)
}
