package tokencleaner

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/allot-dev/allot/internal/controller/reconciler"
)

type secretCache interface {
	Get(namespace, name string) (*corev1.Secret, bool)
}

type secretServer interface {
	// DeleteSecret deletes the secret, with the UID and version that were read.
	DeleteSecret(ctx context.Context, s *corev1.Secret) error
}

// Controller deletes bootstrap tokens that have expired.
type Controller struct {
	secrets secretCache
	server  secretServer
	clock   clock.PassiveClock
	queue   reconciler.Queue[types.NamespacedName]
	run     func(context.Context) error
}

// Run reconciles until ctx is done.
func (c *Controller) Run(ctx context.Context) error { return c.run(ctx) }

// Reconcile deletes the secret if it has expired, and requeues it otherwise.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) error {
	secret, ok := c.secrets.Get(key.Namespace, key.Name)
	if !ok {
		return nil
	}
	at, ok := Expiry(secret)
	if !ok {
		return nil
	}
	if left := at.Sub(c.clock.Now()); left > 0 {
		c.queue.AddAfter(key, left)
		return nil
	}
	err := c.server.DeleteSecret(ctx, secret)
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete bootstrap token %s: %w", key, err)
	}
	return nil
}

// onSecret handles a change in the cache of secrets.
func (c *Controller) onSecret(_, after *corev1.Secret) {
	if after == nil {
		return
	}
	if _, ok := Expiry(after); ok {
		c.queue.Add(reconciler.KeyOf(after))
	}
}
