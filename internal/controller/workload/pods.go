package workload

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/controller/expectations"
	"github.com/allot-dev/allot/internal/controller/objects"
	"github.com/allot-dev/allot/internal/controller/reconciler"
)

// ExpectationLife is the time after which an expected write that the cache never shows is dropped.
const ExpectationLife = time.Minute

// Owner is an object that owns pods.
type Owner interface {
	runtime.Object
	metav1.Object
}

// PodCache is the cache of pods. It must have ownership.Index.
type PodCache interface {
	objects.Getter[*core.Pod]
	objects.Index[*core.Pod]
}

// PodServer writes pods, and reads them from the API. Delete deletes them gracefully.
type PodServer interface {
	objects.Creator[*core.Pod]
	objects.Patcher[*core.Pod]
	objects.Deleter[*core.Pod]
	objects.Selector[*core.Pod]
}

// Pods is one controller's access to the pods of its owners. It is safe for concurrent use.
type Pods struct {
	PodCache
	server PodServer
	events reconciler.Recorder
	own    *expectations.Tracker
}

// NewPods returns Pods that reads from the cache and writes to the server. Its events are about the
// owners of the pods.
func NewPods(cache PodCache, server PodServer, events reconciler.Recorder, clock clock.PassiveClock) *Pods {
	return &Pods{cache, server, events, expectations.NewTracker(expectations.In(cache.Get), clock, ExpectationLife)}
}

// Follow makes expectations use the resource version that the cache has reached.
func (p *Pods) Follow(reached func() string) *Pods {
	p.own.Follow(reached)
	return p
}

// Settled reports whether the cache shows all creations and deletions for the owner. Otherwise wait
// is the time until the next check. An owner with a request that had no response is compared with
// the API first, by its selector.
func (p *Pods) Settled(
	ctx context.Context, owner Owner, selector labels.Selector,
) (ok bool, wait time.Duration, err error) {
	if p.own.InDoubt(owner.GetUID()) {
		pods, err := p.server.LiveMatching(ctx, owner.GetNamespace(), selector)
		if err != nil {
			return false, 0, fmt.Errorf("look for pods after a request without a response: %w", err)
		}
		var live []metav1.Object
		for _, pod := range pods {
			if metav1.IsControlledBy(pod, owner) {
				live = append(live, pod)
			}
		}
		p.own.Resolve(owner.GetUID(), live)
	}
	ok, wait = p.own.Satisfied(owner.GetUID())
	return ok, wait, nil
}

// Create creates a pod for the owner, and reports whether it did. In a namespace that is being
// terminated it creates nothing, without an error: the owner will be deleted as well.
func (p *Pods) Create(ctx context.Context, owner Owner, pod *core.Pod) (bool, error) {
	created, err := p.server.Create(ctx, pod)
	switch {
	case err == nil:
		p.own.Created(owner.GetUID(), created)
		p.events.Eventf(owner, corev1.EventTypeNormal, "SuccessfulCreate", "Created pod: %v", created.Name)
		return true, nil
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return false, nil
	case !client.IsRefusal(err):
		p.own.Doubt(owner.GetUID(), nil)
	}
	p.events.Eventf(owner, corev1.EventTypeWarning, "FailedCreate", "Error creating: %v", err)
	return false, err
}

// Delete deletes a pod of the owner. A pod that no longer exists is as good.
func (p *Pods) Delete(ctx context.Context, owner Owner, pod *core.Pod) error {
	err := p.server.Delete(ctx, pod)
	switch {
	case err == nil:
		p.events.Eventf(owner, corev1.EventTypeNormal, "SuccessfulDelete", "Deleted pod: %v", pod.Name)
	// A conflict means that the UID differs: the pod was deleted and recreated.
	case apierrors.IsNotFound(err) || apierrors.IsConflict(err):
	default:
		if !client.IsRefusal(err) {
			p.own.Doubt(owner.GetUID(), pod)
		}
		p.events.Eventf(owner, corev1.EventTypeWarning, "FailedDelete", "Error deleting: %v", err)
		return fmt.Errorf("unable to delete pod %s: %w", pod.Name, err)
	}
	p.own.Deleted(owner.GetUID(), pod)
	return nil
}

// Patch applies a strategic merge patch to a pod.
func (p *Pods) Patch(ctx context.Context, pod *core.Pod, patch []byte) error {
	return p.server.Patch(ctx, pod, patch)
}

// Observe handles an event of the cache. It must be called for every event, in order.
func (p *Pods) Observe(before, after *core.Pod) { expectations.Observe(p.own, before, after) }

// Forget drops the expectations of a deleted owner.
func (p *Pods) Forget(owner types.UID) { p.own.Forget(owner) }
