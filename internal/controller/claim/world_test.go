package claim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	resourcev1alpha3 "github.com/allot-dev/allot/api/resource/v1alpha3"
	"github.com/allot-dev/allot/api/scheduling/v1alpha3"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/claims"
	"github.com/allot-dev/allot/internal/claims/claimstest"
	"github.com/allot-dev/allot/internal/features"
	"github.com/allot-dev/allot/internal/groups"
)

var errLost = errors.New("the connection is lost")

// world is an API server, the caches of a controller, its queue and its recorder. What
// the server has and what the caches show differ by the events that are held back.
type world struct {
	pods             *store[*core.Pod]
	groups           *store[*scheduling.PodGroup]
	trees            *store[*v1alpha3.CompositePodGroup]
	claims           *store[*resource.ResourceClaim]
	templates        *store[*resource.ResourceClaimTemplate]
	clusterTemplates *store[*resourcev1alpha3.ClusterResourceClaimTemplate]
	generated        []string // what the meter was told

	controller *Controller
	on         features.Set
	waiting    []Key
	clock      *testclock.FakePassiveClock
	version    int
	conflicts  int // updates of claims that will be refused
	lost       int // records that will not be written
	later      []Key
	// foreignGone are consumers of other kinds that are known not to exist.
	foreignGone map[types.UID]bool
	log         []string
	// check is called after each write.
	check func()
}

func newWorld() *world {
	w := &world{foreignGone: map[types.UID]bool{}, clock: testclock.NewFakePassiveClock(time.Unix(0, 0)), check: func() {}}
	w.pods = newStore(w, "pods",
		map[string]func(*core.Pod) []string{groups.Index: groups.IndexKeys, claims.PodIndex: claims.PodIndexKeys})
	w.groups = newStore(w, "podgroups", map[string]func(*scheduling.PodGroup) []string{groups.ParentIndex: groups.ParentKeys})
	w.trees = newStore(w, "compositepodgroups",
		map[string]func(*v1alpha3.CompositePodGroup) []string{groups.ParentIndex: groups.TreeParentKeys})
	w.claims = newStore(w, "resourceclaims",
		map[string]func(*resource.ResourceClaim) []string{claimsByUser: claimUserKeys})
	w.templates = newStore[*resource.ResourceClaimTemplate](w, "resourceclaimtemplates", nil)
	w.clusterTemplates = newStore[*resourcev1alpha3.ClusterResourceClaimTemplate](w, "clusterresourceclaimtemplates", nil)
	w.start(false)
	return w
}

// start puts a new controller in place of the one there is; its caches show all that the
// server has, and it is told of all of it; with stale, the claims come only when they are
// delivered.
func (w *world) start(stale bool) {
	caches := Caches{
		Pods:             w.pods,
		Groups:           w.groups,
		Trees:            w.trees,
		Claims:           w.claims,
		Templates:        w.templates,
		ClusterTemplates: w.clusterTemplates,
	}
	w.waiting = nil
	w.controller = newController(caches, Server{Owners: w, Claims: w, Live: w, Foreign: w}, w, w, w.clock)
	w.controller.queue, w.controller.features = w, w.on
	w.pods.restart(w.controller.onPod, false)
	w.groups.restart(w.controller.onGroup, false)
	w.trees.restart(w.controller.onTree, false)
	w.claims.restart(w.controller.onClaim, stale)
	w.templates.restart(w.controller.onTemplate, false)
	w.clusterTemplates.restart(w.controller.onClusterTemplate, false)
}

// put writes the objects as a user or another controller would.
func (w *world) put(objects *claimstest.World) {
	for _, o := range objects.Templates {
		w.templates.put(o)
	}
	for _, o := range objects.ClusterTemplates {
		w.clusterTemplates.put(o)
	}
	for _, o := range objects.Trees {
		w.trees.put(o)
	}
	for _, o := range objects.Groups {
		w.groups.put(o)
	}
	for _, o := range objects.Pods {
		w.pods.put(o)
	}
	for _, o := range objects.Claims {
		w.claims.put(o)
	}
}

// work reconciles until nothing waits; what fails is tried again.
func (w *world) work() {
	for range 200 {
		if len(w.waiting) == 0 {
			return
		}
		key := w.waiting[0]
		w.waiting = w.waiting[1:]
		if err := w.controller.Reconcile(context.Background(), key); err != nil {
			w.logf("again: %v", err)
			w.Add(key)
		}
	}
	w.logf("does not come to rest")
}

func (w *world) logf(format string, args ...any) { w.log = append(w.log, fmt.Sprintf(format, args...)) }

func (w *world) Add(key Key) {
	if !slices.Contains(w.waiting, key) {
		w.waiting = append(w.waiting, key)
	}
}

// AddAfter keeps the key until the scenario lets time pass.
func (w *world) AddAfter(key Key, _ time.Duration) { w.later = append(w.later, key) }

func (w *world) Eventf(object runtime.Object, eventtype, reason, messageFmt string, args ...any) {
	w.logf("event on %s: %s %s: %s", object.(metav1.Object).GetName(), eventtype, reason, fmt.Sprintf(messageFmt, args...))
}

func (w *world) Generated(owner string, _ bool, took time.Duration) {
	w.generated = append(w.generated, fmt.Sprintf("%s after %s", owner, took))
}

func (w *world) Refused(owner string, _ bool) { w.generated = append(w.generated, owner+" refused") }

func (w *world) RecordPodClaims(_ context.Context, pod *core.Pod, records []corev1.PodResourceClaimStatus) error {
	live, ok := w.pods.live[storeKey(pod)]
	if !ok || live.UID != pod.UID {
		return w.pods.notFound(pod.Name)
	}
	if live.ResourceVersion != pod.ResourceVersion {
		return apierrors.NewConflict(w.pods.resource(), pod.Name, errors.New("it has changed"))
	}
	if w.lost > 0 {
		w.lost--
		return errLost
	}
	w.logf("record pod %s: %s", pod.Name, recordText(records))
	updated := live.DeepCopy()
	updated.Status.ResourceClaimStatuses = records
	w.pods.put(updated)
	w.check()
	return nil
}

func (w *world) RecordGroupClaims(
	_ context.Context, group *scheduling.PodGroup, records []corev1.PodResourceClaimStatus,
) error {
	live, ok := w.groups.live[storeKey(group)]
	if !ok || live.UID != group.UID {
		return w.groups.notFound(group.Name)
	}
	if w.lost > 0 {
		w.lost--
		return errLost
	}
	w.logf("record podgroup %s: %s", group.Name, recordText(records))
	updated := live.DeepCopy()
	updated.Status.ResourceClaimStatuses = nil
	for _, r := range records {
		updated.Status.ResourceClaimStatuses = append(updated.Status.ResourceClaimStatuses,
			schedulingv1beta1.PodGroupResourceClaimStatus(r))
	}
	w.groups.put(updated)
	w.check()
	return nil
}

func (w *world) RecordTreeClaims(
	_ context.Context, tree *v1alpha3.CompositePodGroup, records []corev1.PodResourceClaimStatus,
) error {
	live, ok := w.trees.live[storeKey(tree)]
	if !ok || live.UID != tree.UID {
		return w.trees.notFound(tree.Name)
	}
	if w.lost > 0 {
		w.lost--
		return errLost
	}
	w.logf("record compositepodgroup %s: %s", tree.Name, recordText(records))
	updated := live.DeepCopy()
	updated.Status.ResourceClaimStatuses = nil
	for _, r := range records {
		updated.Status.ResourceClaimStatuses = append(updated.Status.ResourceClaimStatuses,
			schedulingv1beta1.PodGroupResourceClaimStatus(r))
	}
	w.trees.put(updated)
	w.check()
	return nil
}

func recordText(records []corev1.PodResourceClaimStatus) string {
	var out []string
	for _, r := range records {
		name := "null"
		if r.ResourceClaimName != nil {
			name = *r.ResourceClaimName
		}
		out = append(out, r.Name+"="+name)
	}
	return strings.Join(out, " ")
}

func (w *world) CreateClaim(_ context.Context, claim *resource.ResourceClaim) (*resource.ResourceClaim, error) {
	if _, ok := w.claims.live[storeKey(claim)]; ok {
		w.logf("create claim %s: it is there", claim.Name)
		return nil, apierrors.NewAlreadyExists(w.claims.resource(), claim.Name)
	}
	w.logf("create claim %s", claim.Name)
	created := claim.DeepCopy()
	created.UID = types.UID(fmt.Sprintf("%s-uid-%d", claim.Name, w.version))
	w.claims.put(created)
	w.check()
	return w.claims.live[storeKey(claim)], nil
}

// update stores a changed claim if it is still of the version that it was made from.
func (w *world) update(claim *resource.ResourceClaim) (*resource.ResourceClaim, error) {
	live, ok := w.claims.live[storeKey(claim)]
	if !ok {
		return nil, w.claims.notFound(claim.Name)
	}
	if w.conflicts > 0 || live.ResourceVersion != claim.ResourceVersion {
		w.conflicts = max(0, w.conflicts-1)
		return nil, apierrors.NewConflict(w.claims.resource(), claim.Name, errors.New("it has changed"))
	}
	updated := claim.DeepCopy()
	if updated.DeletionTimestamp != nil && len(updated.Finalizers) == 0 {
		w.logf("claim %s is gone", claim.Name)
		w.claims.remove(updated)
		return updated, nil
	}
	w.claims.put(updated)
	w.check()
	return w.claims.live[storeKey(claim)], nil
}

func (w *world) UpdateClaimStatus(_ context.Context, claim *resource.ResourceClaim) (*resource.ResourceClaim, error) {
	if live, ok := w.claims.live[storeKey(claim)]; ok && claim.Status.Allocation != nil &&
		!apiequality.Semantic.DeepEqual(live.Status.Allocation, claim.Status.Allocation) {
		return nil, apierrors.NewInvalid(schema.GroupKind{Kind: "ResourceClaim"}, claim.Name, nil)
	}
	if live, ok := w.claims.live[storeKey(claim)]; ok && live.DeletionTimestamp != nil &&
		slices.ContainsFunc(claim.Status.ReservedFor, func(ref resourcev1.ResourceClaimConsumerReference) bool {
			return !slices.Contains(live.Status.ReservedFor, ref)
		}) {
		return nil, apierrors.NewInvalid(schema.GroupKind{Kind: "ResourceClaim"}, claim.Name,
			nil) // it takes no more consumers
	}
	updated, err := w.update(claim)
	if err != nil {
		return nil, err
	}
	var left []string
	for _, ref := range claim.Status.ReservedFor {
		left = append(left, ref.Resource+"/"+ref.Name+"("+string(ref.UID)+")")
	}
	w.logf("status of claim %s: allocated=%t reservedFor=[%s]", claim.Name, claim.Status.Allocation != nil,
		strings.Join(left, " "))
	return updated, nil
}

func (w *world) UpdateClaim(_ context.Context, claim *resource.ResourceClaim) error {
	w.logf("finalizers of claim %s: %v", claim.Name, claim.Finalizers)
	_, err := w.update(claim)
	return err
}

func (w *world) DeleteClaim(_ context.Context, claim *resource.ResourceClaim) error {
	live, ok := w.claims.live[storeKey(claim)]
	if !ok || live.UID != claim.UID {
		return w.claims.notFound(claim.Name)
	}
	w.logf("delete claim %s", claim.Name)
	w.deleteClaim(live)
	return nil
}

// deleteClaim deletes as the server does: at once without finalizers.
func (w *world) deleteClaim(claim *resource.ResourceClaim) {
	if len(claim.Finalizers) == 0 {
		w.claims.remove(claim)
		return
	}
	updated := claim.DeepCopy()
	now := metav1.NewTime(w.clock.Now())
	updated.DeletionTimestamp = &now
	w.claims.put(updated)
}

func (w *world) LivePod(_ context.Context, namespace, name string) (*core.Pod, error) {
	return w.pods.liveGet(namespace, name)
}

func (w *world) LiveGroup(_ context.Context, namespace, name string) (*scheduling.PodGroup, error) {
	return w.groups.liveGet(namespace, name)
}

func (w *world) LivePods(context.Context, string) (pods []*core.Pod, version string, err error) {
	w.logf("list pods")
	for _, key := range w.pods.keys(w.pods.live) {
		pods = append(pods, w.pods.live[key])
	}
	return pods, strconv.Itoa(w.version), nil
}

func (w *world) LiveClaim(_ context.Context, namespace, name string) (*resource.ResourceClaim, error) {
	return w.claims.liveGet(namespace, name)
}

// ForeignGone knows the workloads that "gone" has named.
func (w *world) ForeignGone(_ context.Context, _ string, ref resourcev1.ResourceClaimConsumerReference) (bool, error) {
	w.logf("look for %s %s", ref.Resource, ref.Name)
	if w.lost > 0 {
		w.lost--
		return false, errLost
	}
	return w.foreignGone[ref.UID], nil
}

// store is what the server has of one kind, and what a cache shows of it.
type store[T metav1.Object] struct {
	world    *world
	kind     string
	indexes  map[string]func(T) []string
	live     map[string]T
	cached   map[string]T
	pending  []change[T]
	held     bool
	reached  int
	onChange func(before, after T)
}

type change[T any] struct {
	key     string
	after   *T // nil: it is gone
	version int
}

func newStore[T metav1.Object](w *world, kind string, indexes map[string]func(T) []string) *store[T] {
	return &store[T]{world: w, kind: kind, indexes: indexes, live: map[string]T{}, cached: map[string]T{}}
}

func storeKey(o metav1.Object) string { return o.GetNamespace() + "/" + o.GetName() }

func (s *store[T]) put(o T) {
	s.world.version++
	o.SetResourceVersion(strconv.Itoa(s.world.version))
	s.live[storeKey(o)] = o
	s.pending = append(s.pending, change[T]{storeKey(o), &o, s.world.version})
	if !s.held {
		s.deliver(len(s.pending))
	}
}

func (s *store[T]) remove(o T) {
	delete(s.live, storeKey(o))
	s.world.version++
	s.pending = append(s.pending, change[T]{storeKey(o), nil, s.world.version})
	if !s.held {
		s.deliver(len(s.pending))
	}
}

// deliver lets the cache see the next n changes.
func (s *store[T]) deliver(n int) {
	for range min(n, len(s.pending)) {
		next := s.pending[0]
		s.pending = s.pending[1:]
		s.reached = next.version
		before, had := s.cached[next.key]
		var none T
		switch {
		case next.after != nil:
			s.cached[next.key] = *next.after
			s.onChange(before, *next.after)
		case had:
			delete(s.cached, next.key)
			s.onChange(before, none)
		}
	}
}

func (s *store[T]) restart(onChange func(before, after T), stale bool) {
	s.onChange, s.pending, s.cached, s.held = onChange, nil, map[string]T{}, stale
	for _, key := range s.keys(s.live) {
		o := s.live[key]
		s.pending = append(s.pending, change[T]{key, &o, s.world.version})
	}
	if !stale {
		s.deliver(len(s.pending))
	}
}

// Reached is the version of the last change that the cache has seen. An informer knows no more as
// long as nothing changes.
func (s *store[T]) Reached() string { return strconv.Itoa(s.reached) }

func (s *store[T]) keys(of map[string]T) []string {
	var keys []string
	for key := range of {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func (s *store[T]) Get(namespace, name string) (T, bool) {
	o, ok := s.cached[namespace+"/"+name]
	return o, ok
}

func (s *store[T]) ByIndex(index, key string) []T {
	var out []T
	for _, k := range s.keys(s.cached) {
		if slices.Contains(s.indexes[index](s.cached[k]), key) {
			out = append(out, s.cached[k])
		}
	}
	return out
}

func (s *store[T]) liveGet(namespace, name string) (T, error) {
	s.world.logf("read %s %s", s.kind, name)
	o, ok := s.live[namespace+"/"+name]
	if !ok {
		return o, s.notFound(name)
	}
	return o, nil
}

func (s *store[T]) resource() schema.GroupResource {
	return schema.GroupResource{Group: resourcev1.GroupName, Resource: s.kind}
}

func (s *store[T]) notFound(name string) error { return apierrors.NewNotFound(s.resource(), name) }

func parse(t *testing.T, text string) *claimstest.World {
	t.Helper()
	w, err := claimstest.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return w
}
