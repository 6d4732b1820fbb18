package attach

import (
	"context"
	"fmt"
	"slices"
	"strings"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/claims"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/groups"
)

// kind is the objects of one kind on the server, and the cache of them.
type kind[T client.Object] struct {
	objects map[string]T
	keys    map[string]func(T) []string // of the indexes
}

func (k *kind[T]) Get(namespace, name string) (T, bool) {
	object, ok := k.objects[namespace+"/"+name]
	return object, ok
}

func (k *kind[T]) ByIndex(index, key string) []T {
	var out []T
	for _, object := range k.objects {
		if slices.Contains(k.keys[index](object), key) {
			out = append(out, object)
		}
	}
	slices.SortFunc(out, func(a, b T) int { return strings.Compare(a.GetName(), b.GetName()) })
	return out
}

func (k *kind[T]) put(object T) {
	if k.objects == nil {
		k.objects = map[string]T{}
	}
	k.objects[object.GetNamespace()+"/"+object.GetName()] = object
}

func (k *kind[T]) delete(object T) { delete(k.objects, object.GetNamespace()+"/"+object.GetName()) }

// world is a server whose writes reach the caches immediately, and an event recorder.
type world struct {
	pods      kind[*core.Pod]
	groups    kind[*scheduling.PodGroup]
	claims    kind[*resource.ResourceClaim]
	templates kind[*resource.ResourceClaimTemplate]
	// unseen are claims that the cache does not show yet.
	unseen map[string]*resource.ResourceClaim
	uid    int
	log    []string
}

func newWorld() *world {
	w := &world{unseen: map[string]*resource.ResourceClaim{}}
	w.pods.keys = map[string]func(*core.Pod) []string{groups.Index: groups.IndexKeys, claims.PodIndex: claims.PodIndexKeys}
	w.claims.keys = map[string]func(*resource.ResourceClaim) []string{claimsByOwner: ownerKeys, claimsByDevice: exclusive}
	return w
}

func (w *world) meta(name string) metav1.ObjectMeta {
	w.uid++
	return metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(fmt.Sprint(name, "-", w.uid))}
}

func (w *world) recordEvent(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf(format, args...))
}

func (w *world) takeEvents() string {
	text := strings.Join(w.log, "\n")
	w.log = nil
	if text == "" {
		return "nothing"
	}
	return text
}

func (w *world) Eventf(object runtime.Object, _, reason, format string, args ...any) {
	w.recordEvent("event on %s: %s: %s", object.(metav1.Object).GetName(), reason, fmt.Sprintf(format, args...))
}

func (w *world) SetFinalizers(_ context.Context, group *scheduling.PodGroup, finalizers []string) error {
	w.recordEvent("finalizers of %s: %v", group.Name, finalizers)
	group = group.DeepCopy()
	group.Finalizers = finalizers
	w.groups.put(group)
	if group.DeletionTimestamp != nil && len(finalizers) == 0 {
		w.groups.delete(group)
	}
	return nil
}

func (w *world) Record(
	_ context.Context, group *scheduling.PodGroup, statuses []schedulingv1beta1.PodGroupResourceClaimStatus,
) error {
	group = group.DeepCopy()
	group.Status.ResourceClaimStatuses = statuses
	w.groups.put(group)
	var list []string
	for _, s := range statuses {
		list = append(list, s.Name+"="+*s.ResourceClaimName)
	}
	w.recordEvent("status of %s: %s", group.Name, strings.Join(list, " "))
	return nil
}

func (w *world) CreateClaim(_ context.Context, claim *resource.ResourceClaim) error {
	if _, err := w.LiveClaim(context.Background(), claim.Namespace, claim.Name); err == nil {
		return apierrors.NewAlreadyExists(schema.GroupResource{Resource: "resourceclaims"}, claim.Name)
	}
	owner := claim.OwnerReferences[0]
	w.recordEvent("create claim %s of %s %s %s", claim.Name, owner.APIVersion, owner.Kind, owner.UID)
	claim.UID = w.meta(claim.Name).UID
	w.claims.put(claim)
	return nil
}

func (w *world) DeleteClaim(_ context.Context, claim *resource.ResourceClaim) error {
	w.recordEvent("delete claim %s", claim.Name)
	now := metav1.Now()
	claim = claim.DeepCopy()
	claim.DeletionTimestamp = &now
	w.claims.put(claim)
	return nil
}

func (w *world) LiveClaim(_ context.Context, namespace, name string) (*resource.ResourceClaim, error) {
	if claim, ok := w.claims.Get(namespace, name); ok {
		return claim, nil
	}
	if claim, ok := w.unseen[name]; ok {
		return claim, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "resourceclaims"}, name)
}

func (w *world) Deallocate(_ context.Context, claim *resource.ResourceClaim) error {
	w.recordEvent("deallocate %s", claim.Name)
	claim = claim.DeepCopy()
	claim.Status = resource.ResourceClaimStatus{}
	w.claims.put(claim)
	return nil
}

func (w *world) DeletePod(_ context.Context, pod *core.Pod) error {
	w.recordEvent("delete pod %s", pod.Name)
	return nil
}
