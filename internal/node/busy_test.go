package node

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/controller/reconciler"
	"github.com/allot-dev/allot/internal/fleet"
)

// busyWorld is a world for several concurrent workers, which counts the changes of its pods.
type busyWorld struct {
	mu                   sync.Mutex
	w                    *world
	prepared, unprepared int
	updates              int
	running              chan struct{} // closed when all pods run
	gone                 chan struct{} // closed when no pod is left
}

func (b *busyWorld) Get(namespace, name string) (*core.Pod, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.w.getPod(namespace, name)
}

func (b *busyWorld) getClaim(namespace, name string) (*resource.ResourceClaim, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.w.getClaim(namespace, name)
}

func (b *busyWorld) UpdatePodStatus(ctx context.Context, pod *core.Pod) (*core.Pod, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	after, err := b.w.UpdatePodStatus(ctx, pod)
	if err == nil {
		if b.updates++; b.updates == len(b.w.pods) {
			close(b.running)
		}
	}
	return after, err
}

func (b *busyWorld) DeletePod(ctx context.Context, pod *core.Pod) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	err := b.w.DeletePod(ctx, pod)
	if err == nil && len(b.w.pods) == 0 {
		close(b.gone)
	}
	return err
}

func (b *busyWorld) LiveClaim(ctx context.Context, namespace, name string) (*resource.ResourceClaim, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.w.LiveClaim(ctx, namespace, name)
}

func (b *busyWorld) Prepare(_ context.Context, _ *core.Pod, claims []*resource.ResourceClaim) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.prepared += len(claims)
	return nil
}

func (b *busyWorld) Unprepare(_ context.Context, _ *core.Pod, claims []*resource.ResourceClaim) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unprepared += len(claims)
	return nil
}

func (b *busyWorld) Eventf(object runtime.Object, eventtype, reason, format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.w.Eventf(object, eventtype, reason, format, args...)
}

// TestManyPods starts and stops pods with sixteen workers; half of the pods wait for claims that
// are created meanwhile. Each pod costs one write until it runs, one when it has stopped, and a
// delete; no address is assigned twice.
func TestManyPods(t *testing.T) {
	const nodes, count = 20, 1000
	w := newWorld()
	w.start(fleet.Simple(nodes, 0), false)
	b := &busyWorld{w: w, running: make(chan struct{}), gone: make(chan struct{})}
	p := w.agent.pods
	p.cache, p.claims, p.live, p.write, p.events = b, cache[*resource.ResourceClaim]{get: b.getClaim}, b, b, b
	p.holdings = newHoldings(b)
	p.runtime = NewSimulated(w.clock, 0)
	runner := reconciler.New("pods", p.reconcile, reconciler.Options{Workers: 16, Clock: w.clock})
	p.queue = runner
	ctx := t.Context()
	go func() { _ = runner.Run(ctx) }()

	b.mu.Lock()
	for i := range count {
		w.setPod(busyPod(i, nodes))
	}
	b.mu.Unlock()
	for i := range count / 2 {
		claim := &resource.ResourceClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint("c", i), UID: types.UID(fmt.Sprint("c", i))},
		}
		claim.Status.Allocation = &resource.AllocationResult{ReservedForAnyPod: new(true)}
		b.mu.Lock()
		w.claim[keyOf(claim.Name)] = claim
		b.mu.Unlock()
		p.onClaim(nil, claim)
	}
	await(t, "all pods run", b.running)

	b.mu.Lock()
	seen := map[string]string{}
	for _, pod := range w.pods {
		if other, ok := seen[pod.Status.PodIP]; ok {
			t.Errorf("pods %s and %s have the address %s", pod.Name, other, pod.Status.PodIP)
		}
		seen[pod.Status.PodIP] = pod.Name
	}
	for _, pod := range w.pods {
		next := pod.DeepCopy()
		next.DeletionTimestamp = new(metav1.NewTime(w.clock.Now().Add(time.Minute)))
		w.setPod(next)
	}
	b.mu.Unlock()
	await(t, "all pods are gone", b.gone)
	if b.updates != 2*count {
		t.Errorf("%d status writes for %d pods, want two for each", b.updates, count)
	}
	if b.prepared != count/2 || b.unprepared != count/2 || len(p.holdings.byPlace) > 0 {
		t.Errorf("%d claims prepared, %d taken back, %d held, of %d", b.prepared, b.unprepared, len(p.holdings.byPlace), count/2)
	}
}

func busyPod(i, nodes int) *core.Pod {
	pod := &core.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint("p", i), UID: types.UID(fmt.Sprint("u", i))},
	}
	pod.Spec.NodeName = fmt.Sprint("node-", i%nodes)
	pod.Spec.RestartPolicy = "Always"
	if i%2 == 0 {
		entry := core.PodResourceClaim{}
		entry.Name, entry.ResourceClaimName = "c", new(fmt.Sprint("c", i/2))
		pod.Spec.ResourceClaims = []core.PodResourceClaim{entry}
	}
	return pod
}

func await(t *testing.T, what string, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatalf("not in time: %s", what)
	}
}

// TestAnnotationsAreDocumented checks that the reference has each annotation.
func TestAnnotationsAreDocumented(t *testing.T) {
	data, err := os.ReadFile("../../docs/fleet.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{AnnotationRunFor, AnnotationExitCode, AnnotationStopFor, AnnotationKillFor,
		AnnotationStopped} {
		if !strings.Contains(string(data), "`"+name) {
			t.Errorf("docs/fleet.md does not speak of %s", name)
		}
	}
}
