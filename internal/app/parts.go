package app

import (
	"errors"

	"k8s.io/client-go/tools/record"

	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/controller/claim"
	"github.com/allot-dev/allot/internal/controller/deployment"
	"github.com/allot-dev/allot/internal/controller/garbagecollector"
	"github.com/allot-dev/allot/internal/controller/namespace"
	"github.com/allot-dev/allot/internal/controller/podgc"
	"github.com/allot-dev/allot/internal/controller/podgroup"
	"github.com/allot-dev/allot/internal/controller/replicaset"
	"github.com/allot-dev/allot/internal/node"
	"github.com/allot-dev/allot/internal/scheduler"
)

// newControllers makes all controllers. They share the caches.
func newControllers(set *client.Set, caches *client.Informers, events record.EventRecorder) ([]part, error) {
	claims, err1 := claim.New(set, caches, events)
	groups, err2 := podgroup.New(set, caches, events)
	deployments, err3 := deployment.New(set, caches, events)
	replicaSets, err4 := replicaset.New(set, caches, events)
	garbage, err5 := garbagecollector.New(set, caches, events)
	namespaces, err6 := namespace.New(set, caches)
	pods, err7 := podgc.New(set, caches, podgc.Options{})
	if err := errors.Join(err1, err2, err3, err4, err5, err6, err7); err != nil {
		return nil, err
	}
	return []part{
		{"claim controller", claims.Run},
		{"podgroup controller", groups.Run},
		{"deployment controller", deployments.Run},
		{"replicaset controller", replicaSets.Run},
		{"garbage collector", garbage.Run},
		{"namespace controller", namespaces.Run},
		{"pod collector", pods.Run},
	}, nil
}

func newScheduler(set *client.Set, caches *client.Informers, events record.EventRecorder) (part, error) {
	s, err := scheduler.New(set, caches, events, scheduler.Options{})
	if err != nil {
		return part{}, err
	}
	return part{"scheduler", s.Run}, nil
}

func newNodes(set *client.Set, caches *client.Informers, events record.EventRecorder, opts Options) (*node.Agent, error) {
	return node.New(set, caches, opts.Fleet, node.Options{Events: events, Idle: opts.IdleNodes})
}
