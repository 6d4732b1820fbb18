package replicationcontroller

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	apps "github.com/allot-dev/allot/api/apps/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/client"
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
	c, err := replicaset.Of(source(controllers, server{set}), set, inf, recorder{events})
	if err != nil {
		return nil, err
	}
	controllers.OnChange(func(before, after *core.ReplicationController) { c.OnSet(toSet(before), toSet(after)) })
	return c, nil
}

// cache is the cache of ReplicationControllers. It must have ownership.Index.
type cache interface {
	Get(namespace, name string) (*core.ReplicationController, bool)
	ByIndex(index, key string) []*core.ReplicationController
	InNamespace(namespace string) []*core.ReplicationController
}

// writer reads ReplicationControllers from the API and writes their status.
type writer interface {
	Live(ctx context.Context, namespace, name string) (*core.ReplicationController, error)
	UpdateStatus(ctx context.Context, rc *core.ReplicationController) error
}

// source returns the ReplicationControllers as ReplicaSets.
func source(controllers cache, api writer) replicaset.Source {
	return replicaset.Source{
		Kind: corev1.SchemeGroupVersion.WithKind("ReplicationController"),
		Sets: asSets{controllers}, Writer: setWriter{api}, WithoutTerminating: true,
	}
}

// asSets implements replicaset.Cache.
type asSets struct{ controllers cache }

func (a asSets) Get(namespace, name string) (*apps.ReplicaSet, bool) {
	rc, ok := a.controllers.Get(namespace, name)
	return toSet(rc), ok
}

func (a asSets) ByIndex(index, key string) []*apps.ReplicaSet {
	return toSets(a.controllers.ByIndex(index, key))
}

func (a asSets) InNamespace(namespace string) []*apps.ReplicaSet {
	return toSets(a.controllers.InNamespace(namespace))
}

func toSets(controllers []*core.ReplicationController) []*apps.ReplicaSet {
	sets := make([]*apps.ReplicaSet, len(controllers))
	for i, rc := range controllers {
		sets[i] = toSet(rc)
	}
	return sets
}

// setWriter implements replicaset.Writer.
type setWriter struct{ api writer }

func (w setWriter) LiveReplicaSet(ctx context.Context, namespace, name string) (*apps.ReplicaSet, error) {
	rc, err := w.api.Live(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	return toSet(rc), nil
}

func (w setWriter) UpdateReplicaSetStatus(ctx context.Context, rs *apps.ReplicaSet) error {
	return w.api.UpdateStatus(ctx, fromSet(rs))
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

// server implements the writer with a client.Set.
type server struct{ set *client.Set }

func (s server) Live(ctx context.Context, namespace, name string) (*core.ReplicationController, error) {
	return s.set.ReplicationControllers(namespace).Get(ctx, name, metav1.GetOptions{})
}

func (s server) UpdateStatus(ctx context.Context, rc *core.ReplicationController) error {
	_, err := s.set.ReplicationControllers(rc.Namespace).UpdateStatus(ctx, rc, metav1.UpdateOptions{})
	return err
}
