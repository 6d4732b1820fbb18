package nodelifecycle

import (
	"context"
	"fmt"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	testclock "k8s.io/utils/clock/testing"

	"github.com/allot-dev/allot/internal/fleet"
	"github.com/allot-dev/allot/internal/testkit/memcache"
)

// store is the cache of an informer.
type store struct{ cache.Indexer }

func (s store) Get(_, name string) (*corev1.Node, bool) {
	node, ok, _ := s.GetByKey(name)
	if !ok {
		return nil, false
	}
	return node.(*corev1.Node), true
}

func (s store) List() []*corev1.Node {
	all := s.Indexer.List()
	out := make([]*corev1.Node, len(all))
	for i := range all {
		out[i] = all[i].(*corev1.Node)
	}
	return out
}

// BenchmarkPass measures a pass over 10,000 healthy nodes.
func BenchmarkPass(b *testing.B) {
	w := &world{clock: testclock.NewFakeClock(start), leases: memcache.New[*coordinationv1.Lease]()}
	nodes := store{cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})}
	for i := range 10000 {
		node := &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{
				Name:        fmt.Sprint("n", i),
				Annotations: map[string]string{fleet.AnnotationLease: "fleet"},
			},
		}
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		if err := nodes.Add(node); err != nil {
			b.Fatal(err)
		}
	}
	c := newController(nodes, w.leases, nil, w, w, Options{Clock: w.clock}.withDefaults())
	c.queue = w
	for b.Loop() {
		w.renew("fleet")
		w.clock.Step(period)
		c.pass(context.Background())
	}
	if len(w.queue) > 0 {
		b.Errorf("%d nodes need work", len(w.queue))
	}
}
