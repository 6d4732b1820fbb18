package node

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/controller/reconciler"
)

type nodeCache interface {
	Get(namespace, name string) (*corev1.Node, bool)
}

// nodeWriter writes Node objects. Updates contain the resource version that they are based on.
type nodeWriter interface {
	CreateNode(ctx context.Context, node *corev1.Node) (*corev1.Node, error)
	UpdateNode(ctx context.Context, node *corev1.Node) (*corev1.Node, error)
	UpdateNodeStatus(ctx context.Context, node *corev1.Node) (*corev1.Node, error)
}

// nodes registers the nodes of the fleet and keeps them in sync.
type nodes struct {
	cache    nodeCache
	write    nodeWriter
	clock    clock.PassiveClock
	queue    reconciler.Queue[string]
	machines map[string]machine // by name; immutable
	echoes   *ownWrites
	// registered is called when a node is in sync.
	registered func(name string)
	// seen has the nodes that this agent has found or created. A deleted one is not created again.
	seen *names
}

// reconcile registers one node or brings it in sync.
func (n *nodes) reconcile(ctx context.Context, name string) error {
	m, ours := n.machines[name]
	if !ours {
		return nil
	}
	have, ok := n.cache.Get("", name)
	version := ""
	if ok {
		version = have.ResourceVersion
		n.seen.add(name)
	}
	if n.echoes.missing("node/"+name, version) {
		n.queue.AddAfter(name, time.Second)
		return nil
	}
	if !ok {
		if n.seen.has(name) {
			return nil
		}
		return n.create(ctx, name, m)
	}
	if err := n.update(ctx, have, m); err != nil {
		return fmt.Errorf("update node %s: %w", name, err)
	}
	n.registered(name)
	return nil
}

func (n *nodes) create(ctx context.Context, name string, m machine) error {
	want := m.desired(nil, n.clock.Now())
	node, err := n.write.CreateNode(ctx, want)
	if err != nil {
		return fmt.Errorf("create node %s: %w", name, err)
	}
	n.seen.add(name)
	n.echoes.wrote("node/"+name, node.ResourceVersion)
	return nil // the status, if the server ignored it, is written when the cache shows the node
}

// update writes the differences. The status update is based on the result of the first update.
func (n *nodes) update(ctx context.Context, have *corev1.Node, m machine) error {
	want := m.desired(have, n.clock.Now())
	var err error
	if !sameNode(have, want) {
		status := want.Status
		if want, err = n.write.UpdateNode(ctx, want); err != nil {
			return client.IgnoreNotFound(err)
		}
		n.echoes.wrote("node/"+want.Name, want.ResourceVersion)
		want.Status = status
	}
	if !sameNodeStatus(have, want) {
		if want, err = n.write.UpdateNodeStatus(ctx, want); err != nil {
			return client.IgnoreNotFound(err)
		}
		n.echoes.wrote("node/"+want.Name, want.ResourceVersion)
	}
	return nil
}

// alive reports whether a node belongs to the fleet and its agent works, and returns its index.
func (n *nodes) alive(name string) (index int, alive bool) {
	m, ours := n.machines[name]
	if !ours {
		return 0, false
	}
	if node, ok := n.cache.Get("", name); ok && isStopped(node) {
		return m.index, false
	}
	return m.index, true
}
