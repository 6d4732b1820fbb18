package resourcequota

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	apiquota "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/utils/clock"

	"github.com/allot-dev/allot/internal/controller/reconciler"
	"github.com/allot-dev/allot/internal/quota"
)

const (
	// recountEvery is how often a quota is counted again in any case.
	recountEvery = 5 * time.Minute
	// recountOthersEvery is the same for a quota that counts kinds whose deletions are not watched.
	recountOthersEvery = 20 * time.Second
)

// quotaCache is the cache of ResourceQuotas.
type quotaCache interface {
	Get(namespace, name string) (*corev1.ResourceQuota, bool)
	InNamespace(namespace string) []*corev1.ResourceQuota
}

// quotaWriter writes ResourceQuotas.
type quotaWriter interface {
	UpdateQuotaStatus(ctx context.Context, q *corev1.ResourceQuota) error
}

// Controller keeps the statuses of ResourceQuotas.
type Controller struct {
	quotas quotaCache
	list   quota.Lister
	write  quotaWriter
	clock  clock.PassiveClock
	queue  reconciler.Queue[types.NamespacedName]
	run    func(context.Context) error
}

// Run counts until ctx is done.
func (c *Controller) Run(ctx context.Context) error { return c.run(ctx) }

// onQuota handles a change in the cache of ResourceQuotas. Changes of the status are made by the
// API server, which charges new objects that caches may not show yet.
func (c *Controller) onQuota(before, after *corev1.ResourceQuota) {
	if after != nil && (before == nil || !apiequality.Semantic.DeepEqual(before.Spec, after.Spec)) {
		c.queue.Add(reconciler.KeyOf(after))
	}
}

// recount enqueues the quotas of a namespace.
func (c *Controller) recount(namespace string) {
	for _, q := range c.quotas.InNamespace(namespace) {
		c.queue.Add(reconciler.KeyOf(q))
	}
}

// Reconcile counts what a quota limits, and writes the status if it differs.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) error {
	q, ok := c.quotas.Get(key.Namespace, key.Name)
	if !ok || q.DeletionTimestamp != nil {
		return nil
	}
	registry := quota.Registry(c.list, c.clock.Now, q.Spec.Hard)
	used, failed := apiquota.CalculateUsage(q.Namespace, q.Spec.Scopes, q.Spec.Hard, registry, q.Spec.ScopeSelector)
	status := corev1.ResourceQuotaStatus{Hard: q.Spec.Hard, Used: corev1.ResourceList{}}
	for name := range q.Spec.Hard {
		if amount, ok := used[name]; ok {
			status.Used[name] = amount
		} else if amount, ok := q.Status.Used[name]; ok {
			status.Used[name] = amount // it could not be counted
		}
	}
	c.queue.AddAfter(key, recountAfter(q))
	if !apiequality.Semantic.DeepEqual(status, q.Status) {
		next := q.DeepCopy()
		next.Status = status
		if err := c.write.UpdateQuotaStatus(ctx, next); err != nil && !apierrors.IsNotFound(err) {
			failed = errors.Join(failed, err)
		}
	}
	if failed != nil {
		return fmt.Errorf("quota %s: %w", key, failed)
	}
	return nil
}

func recountAfter(q *corev1.ResourceQuota) time.Duration {
	for name := range q.Spec.Hard {
		if quota.IsCountOfOthers(name) {
			return recountOthersEvery
		}
	}
	return recountEvery
}
