package scheduler

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/cluster"
	"github.com/allot-dev/allot/internal/commit"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/plan"
	"github.com/allot-dev/allot/internal/testkit/memcache"
)

const ns = "ns"

// kinds are the objects of an API, or what a scheduler has seen of it.
type kinds struct {
	pods       *memcache.Cache[*core.Pod]
	groups     *memcache.Cache[*scheduling.PodGroup]
	claims     *memcache.Cache[*resource.ResourceClaim]
	nodes      *memcache.Cache[*corev1.Node]
	namespaces *memcache.Cache[*corev1.Namespace]
	classes    *memcache.Cache[*resourcev1.DeviceClass]
	slices     *memcache.Cache[*resourcev1.ResourceSlice]
	rules      *memcache.Cache[*resourcev1.DeviceTaintRule]
}

func newKinds() *kinds {
	return &kinds{
		pods: memcache.New[*core.Pod](), groups: memcache.New[*scheduling.PodGroup](),
		claims: memcache.New[*resource.ResourceClaim](),
		nodes:  memcache.New[*corev1.Node](), namespaces: memcache.New[*corev1.Namespace](),
		classes: memcache.New[*resourcev1.DeviceClass](), slices: memcache.New[*resourcev1.ResourceSlice](),
		rules: memcache.New[*resourcev1.DeviceTaintRule](),
	}
}

func (k *kinds) caches() cluster.Caches {
	return cluster.Caches{
		Pods:       k.pods,
		PodGroups:  k.groups,
		Claims:     k.claims,
		Nodes:      k.nodes,
		Namespaces: k.namespaces,
		Classes:    k.classes,
		Slices:     k.slices,
		TaintRules: k.rules,
	}
}

// tb is what tests and property checks have in common.
type tb interface {
	Helper()
	Error(args ...any)
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// server is an API server in memory. It checks, with every write, what must never be.
type server struct {
	t       tb
	mu      sync.Mutex
	version int
	objects *kinds
	log     []func(*kinds) // what watchers see, in order
	// graceful: pods that run and are deleted stay until deletePod.
	graceful bool
	taken    func(claim *resource.ResourceClaim) bool // allow what would be a device given twice
	// plugin: nodes count extended resources, so that pods are bound without claims for them.
	plugin bool
}

func newServer(t tb) *server { return &server{t: t, objects: newKinds()} }

// record has a change happen to the API's objects, and later to those who watch.
func (s *server) record(change func(*kinds)) {
	change(s.objects)
	s.log = append(s.log, change)
}

func (s *server) next() string {
	s.version++
	return strconv.Itoa(s.version)
}

// put stores an object as it is, with a new version.
func put[T interface {
	metav1.Object
	DeepCopy() T
}](s *server, pick func(*kinds) *memcache.Cache[T], object T) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return putLocked(s, pick, object)
}

func putLocked[T interface {
	metav1.Object
	DeepCopy() T
}](s *server, pick func(*kinds) *memcache.Cache[T], object T) T {
	object = object.DeepCopy()
	object.SetResourceVersion(s.next())
	s.record(func(k *kinds) { pick(k).Put(object) })
	return object
}

func pods(k *kinds) *memcache.Cache[*core.Pod]                   { return k.pods }
func podGroups(k *kinds) *memcache.Cache[*scheduling.PodGroup]   { return k.groups }
func claimed(k *kinds) *memcache.Cache[*resource.ResourceClaim]  { return k.claims }
func nodes(k *kinds) *memcache.Cache[*corev1.Node]               { return k.nodes }
func classes(k *kinds) *memcache.Cache[*resourcev1.DeviceClass]  { return k.classes }
func sliced(k *kinds) *memcache.Cache[*resourcev1.ResourceSlice] { return k.slices }

func (s *server) deletePod(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record(func(k *kinds) { k.pods.Delete(ns, name) })
}

func (s *server) deleteGroup(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record(func(k *kinds) { k.groups.Delete(ns, name) })
}

func (s *server) claim(name string) *resource.ResourceClaim {
	s.mu.Lock()
	defer s.mu.Unlock()
	claim, ok := s.objects.claims.Get(ns, name)
	if !ok {
		s.t.Fatalf("no claim %s", name)
	}
	return claim
}

func (s *server) pod(name string) *core.Pod {
	s.mu.Lock()
	defer s.mu.Unlock()
	pod, ok := s.objects.pods.Get(ns, name)
	if !ok {
		s.t.Fatalf("no pod %s", name)
	}
	return pod
}

func (s *server) group(name string) *scheduling.PodGroup {
	s.mu.Lock()
	defer s.mu.Unlock()
	group, ok := s.objects.groups.Get(ns, name)
	if !ok {
		s.t.Fatalf("no group %s", name)
	}
	return group
}

// bound are the pods of the group (of none with "") that have a node, by name.
func (s *server) bound(group string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for _, pod := range s.objects.pods.List() {
		in := ""
		if g := pod.Spec.SchedulingGroup; g != nil {
			in = *g.PodGroupName
		}
		if in == group && pod.Spec.NodeName != "" {
			names = append(names, pod.Name)
		}
	}
	return names
}

// allocated are the claims that hold devices, by name.
func (s *server) allocated() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for _, claim := range s.objects.claims.List() {
		if claim.Status.Allocation != nil {
			names = append(names, claim.Name)
		}
	}
	return names
}

var errCrashed = errors.New("this process is gone")

// link is one scheduler's way to the server.
type link struct {
	server *server
	left   int                      // writes until the scheduler's process is gone; < 0: it lives on
	unsaid bool                     // the last of these writes is made, and its answer never comes
	lose   func(write string) bool  // whether the answer to a write gets lost
	refuse func(write string) error // an answer in place of the server's
	writes []string                 // what was written
	tried  map[string]int           // writes that were tried
	life   context.Context          // ends with the process
	end    context.CancelFunc
}

func newLink(s *server) *link {
	l := &link{server: s, left: -1, tried: map[string]int{}}
	l.life, l.end = context.WithCancel(context.Background())
	return l
}

// gone says whether the process is gone; it ends with the first request after its last write. The
// caller holds the server's lock.
func (l *link) gone() bool {
	if l.left != 0 {
		return false
	}
	l.end()
	return true
}

// do writes something, unless the process is gone.
func (l *link) do(write string, apply func() error) error {
	l.server.mu.Lock()
	defer l.server.mu.Unlock()
	l.tried[write]++
	if l.gone() {
		return errCrashed
	}
	if l.refuse != nil {
		if err := l.refuse(write); err != nil {
			return err
		}
	}
	if err := apply(); err != nil {
		return err
	}
	l.writes = append(l.writes, write)
	if l.left--; l.left == 0 && l.unsaid {
		l.end()
		return errCrashed
	}
	if l.lose != nil && l.lose(write) {
		return apierrors.NewTimeoutError("the answer was lost", 0)
	}
	return nil
}

// Get reads a claim.
func (l *link) Get(_ context.Context, key model.Key) (*resource.ResourceClaim, error) {
	l.server.mu.Lock()
	defer l.server.mu.Unlock()
	if l.gone() {
		return nil, errCrashed
	}
	claim, ok := l.server.objects.claims.Get(key.Namespace, key.Name)
	if !ok {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "resourceclaims"}, key.Name)
	}
	return claim, nil
}

func (l *link) Update(_ context.Context, claim *resource.ResourceClaim) (*resource.ResourceClaim, error) {
	return l.writeClaim("protect "+claim.Name, claim, func(old *resource.ResourceClaim) *resource.ResourceClaim {
		now := claim.DeepCopy()
		now.Status = *old.Status.DeepCopy()
		return now
	})
}

func (l *link) UpdateStatus(_ context.Context, claim *resource.ResourceClaim) (*resource.ResourceClaim, error) {
	return l.writeClaim("status "+claim.Name, claim, func(old *resource.ResourceClaim) *resource.ResourceClaim {
		now := old.DeepCopy()
		now.Status = *claim.Status.DeepCopy()
		return now
	})
}

func (l *link) writeClaim(
	write string, claim *resource.ResourceClaim, merge func(old *resource.ResourceClaim) *resource.ResourceClaim,
) (*resource.ResourceClaim, error) {
	var written *resource.ResourceClaim
	err := l.do(write, func() error {
		old, ok := l.server.objects.claims.Get(claim.Namespace, claim.Name)
		if !ok {
			return apierrors.NewNotFound(schema.GroupResource{Resource: "resourceclaims"}, claim.Name)
		}
		if old.ResourceVersion != claim.ResourceVersion || old.UID != claim.UID {
			return apierrors.NewConflict(schema.GroupResource{Resource: "resourceclaims"}, claim.Name, errors.New("modified"))
		}
		written = merge(old)
		l.server.checkClaim(written)
		written = putLocked(l.server, claimed, written)
		return nil
	})
	return written, err
}

// checkClaim holds what the server, or everybody, has to hold: no allocation without the finalizer
// (F40), no consumer without an allocation, no device for two claims (F63).
func (s *server) checkClaim(claim *resource.ResourceClaim) {
	if claim.Status.Allocation == nil {
		if len(claim.Status.ReservedFor) > 0 {
			s.t.Errorf("claim %s is reserved without an allocation", claim.Name)
		}
		return
	}
	if !slices.Contains(claim.Finalizers, resourcev1.Finalizer) {
		s.t.Errorf("claim %s is allocated without the finalizer", claim.Name)
	}
	for _, other := range s.objects.claims.List() {
		if other.Name == claim.Name || other.Status.Allocation == nil {
			continue
		}
		for _, a := range claim.Status.Allocation.Devices.Results {
			for _, b := range other.Status.Allocation.Devices.Results {
				if model.DeviceIDOf(a) == model.DeviceIDOf(b) && (s.taken == nil || !s.taken(claim)) {
					s.t.Errorf("device %s is given to %s and %s", model.DeviceIDOf(a), claim.Name, other.Name)
				}
			}
		}
	}
}

func (l *link) Bind(_ context.Context, binding *corev1.Binding) error {
	return l.do("bind "+binding.Name, func() error {
		pod, ok := l.server.objects.pods.Get(binding.Namespace, binding.Name)
		switch {
		case !ok:
			return apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, binding.Name)
		case pod.UID != binding.UID && binding.UID != "", pod.Spec.NodeName != "", pod.DeletionTimestamp != nil:
			return apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, binding.Name,
				errors.New("is bound, replaced or going"))
		}
		l.server.checkBind(pod)
		pod = pod.DeepCopy()
		pod.Spec.NodeName = binding.Target.Name
		putLocked(l.server, pods, pod)
		return nil
	})
}

// checkBind holds that no pod gets a node before its claims have devices.
func (s *server) checkBind(pod *core.Pod) {
	s.checkClaims(pod)
	amount, asks := pod.Spec.Containers[0].Resources.Requests[extendedName]
	if !asks || amount.IsZero() || s.plugin {
		return
	}
	status := pod.Status.ExtendedResourceClaimStatus
	if status == nil {
		s.t.Errorf("pod %s is bound before its claim is in its status", pod.Name)
	} else if claim, ok := s.objects.claims.Get(ns, status.ResourceClaimName); !ok || claim.Status.Allocation == nil ||
		len(claim.Status.ReservedFor) != 1 {
		s.t.Errorf("pod %s is bound before its claim %s", pod.Name, status.ResourceClaimName)
	}
}

func (s *server) checkClaims(pod *core.Pod) {
	for _, entry := range pod.Spec.ResourceClaims {
		name := entry.ResourceClaimName
		if name == nil {
			name = entry.PodGroupResourceClaim // entries are named like their claims here
		}
		if claim, ok := s.objects.claims.Get(ns, *name); !ok || claim.Status.Allocation == nil ||
			len(claim.Status.ReservedFor) == 0 {
			s.t.Errorf("pod %s is bound before its claim %s", pod.Name, *name)
		}
	}
}

func (l *link) Create(_ context.Context, claim *resource.ResourceClaim) (*resource.ResourceClaim, error) {
	var made *resource.ResourceClaim
	err := l.do("create "+claim.Name, func() error {
		if _, ok := l.server.objects.claims.Get(claim.Namespace, claim.Name); ok {
			return apierrors.NewAlreadyExists(schema.GroupResource{Resource: "resourceclaims"}, claim.Name)
		}
		made = claim.DeepCopy()
		made.UID = types.UID(claim.Name + "-" + l.server.next())
		made = putLocked(l.server, claimed, made)
		return nil
	})
	return made, err
}

func (l *link) Delete(_ context.Context, claim *resource.ResourceClaim) error {
	return l.do("delete "+claim.Name, func() error {
		now, ok := l.server.objects.claims.Get(claim.Namespace, claim.Name)
		switch {
		case !ok:
			return apierrors.NewNotFound(schema.GroupResource{Resource: "resourceclaims"}, claim.Name)
		case now.ResourceVersion != claim.ResourceVersion || now.UID != claim.UID:
			return apierrors.NewConflict(schema.GroupResource{Resource: "resourceclaims"}, claim.Name, errors.New("modified"))
		case len(now.Finalizers) > 0 || now.Status.Allocation != nil:
			l.server.t.Errorf("claim %s is deleted with what it has", claim.Name)
		}
		l.server.record(func(k *kinds) { k.claims.Delete(claim.Namespace, claim.Name) })
		return nil
	})
}

func (l *link) Record(_ context.Context, bind *plan.Pod) error {
	if len(bind.Draws) > 0 {
		return errors.New("no device of these tests draws from a node")
	}
	return l.do("record "+bind.Pod.Name, func() error {
		pod, ok := l.server.objects.pods.Get(bind.Pod.Namespace, bind.Pod.Name)
		switch {
		case !ok:
			return apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, bind.Pod.Name)
		case pod.UID != bind.UID:
			return apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, bind.Pod.Name, errors.New("replaced"))
		}
		pod = pod.DeepCopy()
		pod.Status.ExtendedResourceClaimStatus = bind.Extended
		putLocked(l.server, pods, pod)
		return nil
	})
}

func (l *link) Group(_ context.Context, namespace string, of model.Consumer) (commit.Group, error) {
	l.server.mu.Lock()
	defer l.server.mu.Unlock()
	if l.gone() {
		return commit.Group{}, errCrashed
	}
	group, ok := l.server.objects.groups.Get(namespace, of.Name)
	if !ok {
		return commit.Group{}, apierrors.NewNotFound(schema.GroupResource{Group: of.APIGroup, Resource: of.Resource}, of.Name)
	}
	facts := commit.Group{UID: group.UID}
	if gang := group.Spec.SchedulingPolicy.Gang; gang != nil {
		facts.MinCount = int(gang.MinCount)
	}
	return facts, nil
}

func (l *link) BoundTo(_ context.Context, key model.Key, uid types.UID) (string, error) {
	l.server.mu.Lock()
	defer l.server.mu.Unlock()
	if l.gone() {
		return "", errCrashed
	}
	pod, ok := l.server.objects.pods.Get(key.Namespace, key.Name)
	if !ok || pod.UID != uid {
		return "", nil
	}
	return pod.Spec.NodeName, nil
}

func (l *link) WriteGroup(_ context.Context, group *scheduling.PodGroup) error {
	return l.do("group "+group.Name, func() error {
		old, ok := l.server.objects.groups.Get(group.Namespace, group.Name)
		if !ok {
			return nil
		}
		if old.ResourceVersion != group.ResourceVersion {
			return apierrors.NewConflict(schema.GroupResource{Resource: "podgroups"}, group.Name, errors.New("modified"))
		}
		putLocked(l.server, podGroups, group)
		return nil
	})
}

func (l *link) ReadGroup(_ context.Context, key model.Key) (*scheduling.PodGroup, error) {
	l.server.mu.Lock()
	defer l.server.mu.Unlock()
	if l.gone() {
		return nil, errCrashed
	}
	l.tried["read group "+key.Name]++
	group, _ := l.server.objects.groups.Get(key.Namespace, key.Name)
	return group, nil
}

func (l *link) OrderedSet(_ context.Context, set model.Key, _ types.UID) (bool, error) {
	l.server.mu.Lock()
	defer l.server.mu.Unlock()
	if l.gone() {
		return false, errCrashed
	}
	l.tried["read set "+set.Name]++
	return strings.HasPrefix(set.Name, "ordered"), nil
}

func (l *link) PatchPod(_ context.Context, key model.Key, patch []byte) error {
	return l.do("tell "+key.Name, func() error {
		pod, ok := l.server.objects.pods.Get(key.Namespace, key.Name)
		if !ok {
			return nil
		}
		var body struct {
			Metadata metav1.ObjectMeta
			Status   struct {
				Conditions        []corev1.PodCondition
				NominatedNodeName *string
			}
		}
		if err := json.Unmarshal(patch, &body); err != nil {
			return err
		}
		if m := body.Metadata; m.UID != pod.UID || m.ResourceVersion != "" && m.ResourceVersion != pod.ResourceVersion {
			return apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, key.Name, errors.New("modified"))
		}
		pod = pod.DeepCopy()
		for _, c := range body.Status.Conditions {
			same := func(have corev1.PodCondition) bool { return have.Type == c.Type }
			pod.Status.Conditions = append(slices.DeleteFunc(pod.Status.Conditions, same), c)
		}
		if name := body.Status.NominatedNodeName; name != nil {
			pod.Status.NominatedNodeName = *name
		} else if bytes.Contains(patch, []byte(`"nominatedNodeName":null`)) {
			pod.Status.NominatedNodeName = ""
		}
		putLocked(l.server, pods, pod)
		return nil
	})
}

func (l *link) ReadPod(_ context.Context, key model.Key) (*core.Pod, error) {
	l.server.mu.Lock()
	defer l.server.mu.Unlock()
	if l.gone() {
		return nil, errCrashed
	}
	pod, _ := l.server.objects.pods.Get(key.Namespace, key.Name)
	return pod, nil
}

func (l *link) Evict(_ context.Context, pod *model.Pod) error {
	return l.do("evict "+pod.Key.Name, func() error {
		if now, ok := l.server.objects.pods.Get(pod.Key.Namespace, pod.Key.Name); ok && now.UID == pod.UID {
			if l.server.graceful && now.Spec.NodeName != "" {
				now = now.DeepCopy()
				now.DeletionTimestamp = &metav1.Time{Time: time.Unix(1030, 0)}
				putLocked(l.server, pods, now)
				return nil
			}
			l.server.record(func(k *kinds) { k.pods.Delete(pod.Key.Namespace, pod.Key.Name) })
		}
		return nil
	})
}

// message is what the PodScheduled condition of a pod says.
func (s *server) message(name string) string {
	for _, c := range s.pod(name).Status.Conditions {
		if c.Type == corev1.PodScheduled {
			return fmt.Sprintf("%s: %s", c.Reason, c.Message)
		}
	}
	return ""
}

func key(name string) model.Key { return model.Key{Namespace: ns, Name: name} }
