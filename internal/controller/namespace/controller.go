package namespace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/controller/kinds"
	"github.com/allot-dev/allot/internal/controller/reconciler"
)

const (
	// firstCheck and lastCheck limit the delay, which doubles, before a namespace with remaining
	// content is checked again. The end of pods is noticed immediately.
	firstCheck = 200 * time.Millisecond
	lastCheck  = 4 * time.Second
	// maxParallel limits how many kinds of one namespace are deleted concurrently.
	maxParallel = 8
)

// namespaceCache is the cache of namespaces.
type namespaceCache interface {
	Get(namespace, name string) (*corev1.Namespace, bool)
}

// namespaceWriter writes namespaces.
type namespaceWriter interface {
	UpdateStatus(ctx context.Context, ns *corev1.Namespace) error
	// Finalize writes spec.finalizers.
	Finalize(ctx context.Context, ns *corev1.Namespace) error
}

// objects accesses the content of a namespace.
type objects interface {
	List(ctx context.Context, kind kinds.Kind, namespace string) ([]metav1.PartialObjectMetadata, error)
	// DeleteAll deletes all objects of a kind with one request.
	DeleteAll(ctx context.Context, kind kinds.Kind, namespace string) error
	Delete(ctx context.Context, kind kinds.Kind, namespace, name string) error
}

// Controller deletes namespaces.
type Controller struct {
	namespaces namespaceCache
	writer     namespaceWriter
	objects    objects
	discovery  kinds.Discovery
	clock      clock.PassiveClock
	queue      reconciler.Queue[string]
	run        func(context.Context) error

	mu    sync.Mutex
	waits map[string]time.Duration // last delay for remaining content, by namespace
}

// Run deletes namespaces until ctx is done.
func (c *Controller) Run(ctx context.Context) error {
	return c.run(ctx)
}

// onNamespace handles a change in the cache of namespaces.
func (c *Controller) onNamespace(_, after *corev1.Namespace) {
	if after != nil && isEmptied(after) {
		c.queue.Add(after.Name)
	}
}

// onPod enqueues a namespace when its last pods are deleted.
func (c *Controller) onPod(before, after *core.Pod) {
	if before == nil || after != nil {
		return
	}
	if ns, ok := c.namespaces.Get("", before.Namespace); ok && isEmptied(ns) {
		c.queue.AddAfter(ns.Name, 20*time.Millisecond) // one check for many pods
	}
}

// isEmptied reports whether the content of ns must be deleted: ns is being deleted and was not
// released.
func isEmptied(ns *corev1.Namespace) bool {
	return ns.DeletionTimestamp != nil && slices.Contains(ns.Spec.Finalizers, corev1.FinalizerKubernetes)
}

// Reconcile deletes the content of a namespace as far as possible, and releases it when it is
// empty.
func (c *Controller) Reconcile(ctx context.Context, name string) error {
	ns, ok := c.namespaces.Get("", name)
	if !ok || !isEmptied(ns) {
		c.forget(name)
		return nil
	}
	report := c.empty(ctx, name)
	if report.IsEmpty() {
		return c.release(ctx, ns)
	}
	if err := c.writeReport(ctx, ns, report); err != nil {
		return err
	}
	if err := errors.Join(append(report.Content, report.Discovery)...); err != nil {
		return fmt.Errorf("namespace %s: delete content: %w", name, err)
	}
	c.queue.AddAfter(name, c.nextWait(name))
	return nil
}

// empty deletes the pods of a namespace, and all other content when no pod is left.
func (c *Controller) empty(ctx context.Context, namespace string) Report {
	list, err := kinds.List(c.discovery)
	report := Report{Discovery: err}
	var pods, rest []kinds.Kind
	for _, k := range list {
		switch {
		case !k.Namespaced:
		case k.Resource.Group == "" && k.Resource.Resource == "pods":
			pods = append(pods, k)
		default:
			rest = append(rest, k)
		}
	}
	c.emptyKinds(ctx, namespace, pods, &report)
	if len(report.Remaining)+len(report.Content) == 0 {
		c.emptyKinds(ctx, namespace, rest, &report)
	}
	return report
}

// emptyKinds deletes the objects of several kinds concurrently.
func (c *Controller) emptyKinds(ctx context.Context, namespace string, list []kinds.Kind, report *Report) {
	var mu sync.Mutex // guards report
	var work sync.WaitGroup
	slots := make(chan struct{}, maxParallel)
	for _, kind := range list {
		slots <- struct{}{}
		work.Go(func() {
			defer func() { <-slots }()
			left, err := c.emptyKind(ctx, namespace, kind)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				report.Content = append(report.Content, fmt.Errorf("%s: %w", kind.Resource.GroupResource(), err))
				return
			}
			report.add(kind.Resource.GroupResource(), left)
		})
	}
	work.Wait()
}

// emptyKind deletes the objects that are not being deleted yet, and returns the remaining ones.
func (c *Controller) emptyKind(
	ctx context.Context, namespace string, kind kinds.Kind,
) ([]metav1.PartialObjectMetadata, error) {
	list, err := c.list(ctx, kind, namespace)
	if err != nil {
		return nil, err
	}
	alive := slices.DeleteFunc(slices.Clone(list),
		func(o metav1.PartialObjectMetadata) bool { return o.DeletionTimestamp != nil })
	if len(alive) == 0 {
		return list, nil
	}
	if err := c.delete(ctx, kind, namespace, alive); err != nil {
		return nil, err
	}
	return c.list(ctx, kind, namespace)
}

// list returns no objects for kinds that are no longer served or cannot be listed.
func (c *Controller) list(
	ctx context.Context, kind kinds.Kind, namespace string,
) ([]metav1.PartialObjectMetadata, error) {
	if !kind.Has("list") {
		return nil, nil
	}
	list, err := c.objects.List(ctx, kind, namespace)
	if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
		return nil, nil
	}
	return list, err
}

func (c *Controller) delete(
	ctx context.Context, kind kinds.Kind, namespace string, alive []metav1.PartialObjectMetadata,
) error {
	if kind.Has("deletecollection") {
		err := c.objects.DeleteAll(ctx, kind, namespace)
		if !apierrors.IsMethodNotSupported(err) {
			return err
		}
	}
	for _, o := range alive {
		if err := c.objects.Delete(ctx, kind, namespace, o.Name); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// writeReport writes the remaining content into the status of ns.
func (c *Controller) writeReport(ctx context.Context, ns *corev1.Namespace, report Report) error {
	conditions, changed := Conditions(ns.Status.Conditions, report, c.clock.Now())
	if !changed && ns.Status.Phase == corev1.NamespaceTerminating {
		return nil
	}
	updated := *ns
	updated.Status.Phase, updated.Status.Conditions = corev1.NamespaceTerminating, conditions
	if err := c.writer.UpdateStatus(ctx, &updated); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("namespace %s: status: %w", ns.Name, err)
	}
	return nil
}

// release removes the finalizer that keeps the namespace.
func (c *Controller) release(ctx context.Context, ns *corev1.Namespace) error {
	updated := *ns
	updated.Spec.Finalizers = slices.DeleteFunc(slices.Clone(ns.Spec.Finalizers), func(f corev1.FinalizerName) bool {
		return f == corev1.FinalizerKubernetes
	})
	if err := c.writer.Finalize(ctx, &updated); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("namespace %s: finalize: %w", ns.Name, err)
	}
	c.forget(ns.Name)
	return nil
}

func (c *Controller) nextWait(name string) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waits[name] = min(max(firstCheck, 2*c.waits[name]), lastCheck)
	return c.waits[name]
}

func (c *Controller) forget(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waits, name)
}
