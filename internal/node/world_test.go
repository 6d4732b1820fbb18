package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/fleet"
)

// world is a server with the objects that the agent sees, a clock, and the queues. Writes are
// recorded. Caches show writes immediately, unless they are held back.
type world struct {
	clock *testingclock.FakeClock
	pods  map[types.NamespacedName]*core.Pod
	claim map[types.NamespacedName]*resource.ResourceClaim
	node  map[string]*corev1.Node
	slice map[string]*resourcev1.ResourceSlice

	version int
	born    int // number of created pods
	log     []string
	stale   map[types.NamespacedName]*core.Pod // the cached pod, while changes are held back

	// Claims as cached while changes are held back, and claims that cannot be prepared.
	staleClaim map[types.NamespacedName]*resource.ResourceClaim
	broken     map[string]bool
	unreadable map[string]bool

	agent                 *Agent
	podQueue              *line[types.NamespacedName]
	nodeQueue             *line[string]
	poolQueue             *line[poolKey]
	statusDroppedOnCreate bool
}

func newWorld() *world {
	return &world{
		clock: testingclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 500_000_000, time.UTC)),
		pods:  map[types.NamespacedName]*core.Pod{}, claim: map[types.NamespacedName]*resource.ResourceClaim{},
		node: map[string]*corev1.Node{}, slice: map[string]*resourcev1.ResourceSlice{},
		stale: map[types.NamespacedName]*core.Pod{}, staleClaim: map[types.NamespacedName]*resource.ResourceClaim{},
		broken: map[string]bool{}, unreadable: map[string]bool{},
	}
}

// start creates an agent as New does, on the world's caches.
func (w *world) start(f fleet.Fleet, idle bool) {
	w.podQueue, w.nodeQueue, w.poolQueue = newLine[types.NamespacedName](w), newLine[string](w), newLine[poolKey](w)
	echoes := newOwnWrites(w.clock)
	a := &Agent{fleet: f, missing: map[string]bool{}, ready: make(chan struct{})}
	a.nodes = &nodes{cache: cache[*corev1.Node]{get: w.getNode}, write: w, clock: w.clock, queue: w.nodeQueue,
		machines: machinesOf(f), echoes: echoes, seen: newNames(),
		registered: func(name string) { a.markDone("node/" + name) },
	}
	wanted, ofNode := poolsOf(f)
	a.pools = &pools{
		cache:     w,
		nodes:     a.nodes.cache,
		write:     w,
		queue:     w.poolQueue,
		desired:   wanted,
		ofNode:    ofNode,
		echoes:    echoes,
		fleet:     f.Name,
		external:  map[poolKey]bool{},
		published: func(key poolKey) { a.markDone("pool/" + key.String()) },
	}
	a.pods = &pods{
		cache:     cache[*core.Pod]{get: w.getPod},
		claims:    cache[*resource.ResourceClaim]{get: w.getClaim},
		live:      w,
		write:     w,
		events:    w,
		holdings:  newHoldings(w),
		runtime:   NewSimulated(w.clock, defaultStopFor),
		clock:     w.clock,
		queue:     w.podQueue,
		node:      a.nodes.alive,
		run:       !idle,
		echoes:    echoes,
		addresses: newAddresses(),
		known:     map[types.NamespacedName]*track{},
		waiting:   map[types.NamespacedName]map[types.NamespacedName]bool{},
		orphans:   map[types.NamespacedName][]*core.Pod{},
		last:      map[types.NamespacedName]*core.Pod{},
		blocked:   map[types.NamespacedName]bool{},
		wakes:     map[string]int{},
	}
	w.agent = a
	a.takeUp(slices.Collect(maps.Values(w.pods)))
	a.expectAll()
	for name := range a.nodes.machines {
		w.nodeQueue.Add(name)
	}
	for key := range wanted {
		w.poolQueue.Add(key)
	}
	for key := range w.pods {
		w.podQueue.Add(key)
	}
}

// settle processes the queues until they are empty.
func (w *world) settle() error {
	for range 1000 {
		var err error
		switch {
		case len(w.nodeQueue.keys) > 0:
			err = w.agent.nodes.reconcile(context.Background(), w.nodeQueue.next())
		case len(w.poolQueue.keys) > 0:
			err = w.agent.pools.reconcile(context.Background(), w.poolQueue.next())
		case len(w.podQueue.keys) > 0:
			key := w.podQueue.next()
			if err = w.agent.pods.reconcile(context.Background(), key); apierrors.IsConflict(err) || len(w.broken) > 0 {
				w.podQueue.AddAfter(key, time.Second) // as the runner would, with increasing delays
				err = nil
			}
		default:
			return nil
		}
		if err != nil {
			return err
		}
	}
	return errors.New("the queues do not become empty")
}

// advance advances the clock, and stops at each time at which a key is due.
func (w *world) advance(d time.Duration) error {
	end := w.clock.Now().Add(d)
	for {
		next := end
		for _, due := range []time.Time{w.podQueue.earliest(), w.nodeQueue.earliest(), w.poolQueue.earliest()} {
			if !due.IsZero() && due.Before(next) {
				next = due
			}
		}
		w.clock.SetTime(next)
		w.podQueue.wake()
		w.nodeQueue.wake()
		w.poolQueue.wake()
		if err := w.settle(); err != nil {
			return err
		}
		if next.Equal(end) {
			return nil
		}
	}
}

func (w *world) now() string {
	return w.clock.Now().Sub(time.Date(2026, 1, 1, 0, 0, 0, 500_000_000, time.UTC)).String()
}

func (w *world) note(format string, args ...any) {
	w.log = append(w.log, w.now()+" "+fmt.Sprintf(format, args...))
}

func (w *world) stamp() string {
	w.version++
	return strconv.Itoa(w.version)
}

// line is a queue without the goroutine of a clock.
type line[K comparable] struct {
	w     *world
	keys  []K
	later map[K]time.Time
}

func newLine[K comparable](w *world) *line[K] { return &line[K]{w: w, later: map[K]time.Time{}} }

func (l *line[K]) Add(key K) {
	if !slices.Contains(l.keys, key) {
		l.keys = append(l.keys, key)
	}
}

func (l *line[K]) AddAfter(key K, d time.Duration) {
	if at, ok := l.later[key]; !ok || l.w.clock.Now().Add(d).Before(at) {
		l.later[key] = l.w.clock.Now().Add(d)
	}
}

func (l *line[K]) next() K {
	key := l.keys[0]
	l.keys = l.keys[1:]
	return key
}

func (l *line[K]) earliest() time.Time {
	var first time.Time
	for _, at := range l.later {
		if first.IsZero() || at.Before(first) {
			first = at
		}
	}
	return first
}

func (l *line[K]) wake() {
	for key, at := range l.later {
		if !at.After(l.w.clock.Now()) {
			delete(l.later, key)
			l.Add(key)
		}
	}
}

// cache is the read interface of one kind.
type cache[T any] struct {
	get func(namespace, name string) (T, bool)
}

func (c cache[T]) Get(namespace, name string) (T, bool) { return c.get(namespace, name) }

func (w *world) getPod(namespace, name string) (*core.Pod, bool) {
	key := types.NamespacedName{Namespace: namespace, Name: name}
	if old, ok := w.stale[key]; ok {
		return old, true
	}
	pod, ok := w.pods[key]
	return pod, ok
}

func (w *world) getClaim(namespace, name string) (*resource.ResourceClaim, bool) {
	key := types.NamespacedName{Namespace: namespace, Name: name}
	if old, ok := w.staleClaim[key]; ok {
		return old, true
	}
	claim, ok := w.claim[key]
	return claim, ok
}

// LiveClaim returns the server's claim.
func (w *world) LiveClaim(_ context.Context, namespace, name string) (*resource.ResourceClaim, error) {
	if w.unreadable[name] {
		w.note("cannot read claim %s", name)
		return nil, errors.New("the server is down")
	}
	w.note("read claim %s", name)
	if claim, ok := w.claim[types.NamespacedName{Namespace: namespace, Name: name}]; ok {
		return claim, nil
	}
	return nil, notFound("resourceclaims", name)
}

func (w *world) Prepare(_ context.Context, pod *core.Pod, claims []*resource.ResourceClaim) error {
	return w.callDriver("prepare", pod, claims)
}

func (w *world) Unprepare(_ context.Context, pod *core.Pod, claims []*resource.ResourceClaim) error {
	return w.callDriver("unprepare", pod, claims)
}

func (w *world) callDriver(verb string, pod *core.Pod, claims []*resource.ResourceClaim) error {
	for _, claim := range claims {
		if w.broken[claim.Name] {
			w.note("cannot %s %s on %s", verb, claim.Name, pod.Spec.NodeName)
			return errors.New("the driver does not answer")
		}
		w.note("%s %s on %s", verb, claim.Name, pod.Spec.NodeName)
	}
	return nil
}

func (w *world) getNode(_, name string) (*corev1.Node, bool) {
	node, ok := w.node[name]
	return node, ok
}

func (w *world) ByIndex(_, key string) []*resourcev1.ResourceSlice {
	var out []*resourcev1.ResourceSlice
	for _, slice := range w.slice {
		if poolOf(slice).String() == key {
			out = append(out, slice)
		}
	}
	return out
}

func (w *world) setPod(pod *core.Pod) *core.Pod {
	key := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
	before := w.pods[key]
	pod.ResourceVersion = w.stamp()
	w.pods[key] = pod
	w.agent.pods.onPod(before, pod)
	return pod
}

func (w *world) UpdatePodStatus(_ context.Context, pod *core.Pod) (*core.Pod, error) {
	have, ok := w.pods[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}]
	switch {
	case !ok:
		return nil, notFound("pods", pod.Name)
	case pod.UID != have.UID || pod.ResourceVersion != have.ResourceVersion:
		w.note("conflict on pod %s/status", pod.Name)
		return nil, apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, pod.Name, errors.New("it has changed"))
	}
	next := have.DeepCopy()
	next.Status = *pod.Status.DeepCopy()
	w.note("update pod %s/status: %s", pod.Name, next.Status.Phase)
	return w.setPod(next), nil
}

func (w *world) DeletePod(_ context.Context, pod *core.Pod) error {
	key := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
	have, ok := w.pods[key]
	if !ok || have.UID != pod.UID {
		return notFound("pods", pod.Name)
	}
	w.note("delete pod %s", pod.Name)
	if len(have.Finalizers) > 0 {
		next := have.DeepCopy()
		next.DeletionGracePeriodSeconds = new(int64)
		w.setPod(next)
		return nil
	}
	w.removePod(key)
	return nil
}

func (w *world) removePod(key types.NamespacedName) {
	before := w.pods[key]
	delete(w.pods, key)
	w.agent.pods.onPod(before, nil)
}

func (w *world) Eventf(object runtime.Object, eventtype, reason, format string, args ...any) {
	w.note("event on %s: %s %s: %s", object.(metav1.Object).GetName(), eventtype, reason, fmt.Sprintf(format, args...))
}

func (w *world) CreateNode(_ context.Context, node *corev1.Node) (*corev1.Node, error) {
	next := node.DeepCopy()
	next.UID = types.UID("uid-" + w.stamp())
	if w.statusDroppedOnCreate {
		next.Status = corev1.NodeStatus{}
	}
	w.note("create node %s", node.Name)
	return w.setNode(next), nil
}

func (w *world) UpdateNode(_ context.Context, node *corev1.Node) (*corev1.Node, error) {
	next := node.DeepCopy()
	next.Status = w.node[node.Name].Status
	w.note("update node %s", node.Name)
	return w.setNode(next), nil
}

func (w *world) UpdateNodeStatus(_ context.Context, node *corev1.Node) (*corev1.Node, error) {
	next := w.node[node.Name].DeepCopy()
	next.Status = node.DeepCopy().Status
	w.note("update node %s/status", node.Name)
	return w.setNode(next), nil
}

func (w *world) setNode(node *corev1.Node) *corev1.Node {
	before := w.node[node.Name]
	node.ResourceVersion = w.stamp()
	w.node[node.Name] = node
	w.onNode(before, node)
	return node
}

// onNode is the part of Agent.onNode that needs no informers.
func (w *world) onNode(before, after *corev1.Node) {
	node := after
	if node == nil {
		w.agent.nodes.echoes.forget("node/" + before.Name)
		node = before
	}
	w.nodeQueue.Add(node.Name)
	for _, key := range w.agent.pools.ofNode[node.Name] {
		w.poolQueue.Add(key)
	}
	for key := range w.pods {
		w.podQueue.Add(key)
	}
}

func (w *world) CreateSlice(_ context.Context, slice *resourcev1.ResourceSlice) (*resourcev1.ResourceSlice, error) {
	if _, ok := w.slice[slice.Name]; ok {
		return nil, apierrors.NewAlreadyExists(schema.GroupResource{Resource: "resourceslices"}, slice.Name)
	}
	return w.setSlice("create", slice.DeepCopy()), nil
}

func (w *world) UpdateSlice(_ context.Context, slice *resourcev1.ResourceSlice) (*resourcev1.ResourceSlice, error) {
	return w.setSlice("update", slice.DeepCopy()), nil
}

func (w *world) setSlice(verb string, slice *resourcev1.ResourceSlice) *resourcev1.ResourceSlice {
	w.note("%s slice %s generation %d of %d with %d devices", verb, slice.Name, slice.Spec.Pool.Generation,
		slice.Spec.Pool.ResourceSliceCount, len(slice.Spec.Devices))
	before := w.slice[slice.Name]
	slice.ResourceVersion = w.stamp()
	w.slice[slice.Name] = slice
	w.agent.pools.onSlice(before, slice)
	return slice
}

func (w *world) DeleteSlice(_ context.Context, slice *resourcev1.ResourceSlice) error {
	w.note("delete slice %s", slice.Name)
	w.removeSlice(slice.Name)
	return nil
}

func (w *world) removeSlice(name string) {
	before := w.slice[name]
	delete(w.slice, name)
	w.agent.pools.onSlice(before, nil)
}

func notFound(resource, name string) error {
	return apierrors.NewNotFound(schema.GroupResource{Resource: resource}, name)
}
