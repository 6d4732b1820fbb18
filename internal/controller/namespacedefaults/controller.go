package namespacedefaults

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/controller/reconciler"
)

const (
	// rootCAKey is the key of the certificates in the ConfigMap.
	rootCAKey = "ca.crt"
	// descriptionAnnotation describes the purpose of the ConfigMap.
	descriptionAnnotation = "kubernetes.io/description"
	description           = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal " +
		"service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters."
)

// cacheOf is the cache of a kind.
type cacheOf[T any] interface {
	Get(namespace, name string) (T, bool)
}

// writer writes to the API.
type writer interface {
	CreateServiceAccount(ctx context.Context, account *corev1.ServiceAccount) error
	CreateConfigMap(ctx context.Context, m *corev1.ConfigMap) error
	UpdateConfigMap(ctx context.Context, m *corev1.ConfigMap) error
}

// Controller creates the objects that each namespace has.
type Controller struct {
	namespaces cacheOf[*corev1.Namespace]
	accounts   cacheOf[*corev1.ServiceAccount]
	maps       cacheOf[*corev1.ConfigMap]
	write      writer
	rootCA     string
	queue      reconciler.Queue[string]
	run        func(context.Context) error
}

// Run creates objects until ctx is done.
func (c *Controller) Run(ctx context.Context) error { return c.run(ctx) }

// Reconcile creates what a namespace lacks.
func (c *Controller) Reconcile(ctx context.Context, name string) error {
	ns, ok := c.namespaces.Get("", name)
	if !ok || ns.DeletionTimestamp != nil || ns.Status.Phase == corev1.NamespaceTerminating {
		return nil
	}
	if err := c.serviceAccount(ctx, name); err != nil {
		return fmt.Errorf("service account of namespace %s: %w", name, err)
	}
	if err := c.configMap(ctx, name); err != nil {
		return fmt.Errorf("root certificates of namespace %s: %w", name, err)
	}
	return nil
}

func (c *Controller) serviceAccount(ctx context.Context, namespace string) error {
	if _, ok := c.accounts.Get(namespace, client.DefaultServiceAccount); ok {
		return nil
	}
	account := &corev1.ServiceAccount{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: client.DefaultServiceAccount},
	}
	return refused(c.write.CreateServiceAccount(ctx, account))
}

func (c *Controller) configMap(ctx context.Context, namespace string) error {
	if c.rootCA == "" {
		return nil
	}
	data := map[string]string{rootCAKey: c.rootCA}
	stored, ok := c.maps.Get(namespace, client.RootCAConfigMap)
	if !ok {
		m := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: namespace, Name: client.RootCAConfigMap,
				Annotations: map[string]string{descriptionAnnotation: description},
			},
			Data: data,
		}
		return refused(c.write.CreateConfigMap(ctx, m))
	}
	if maps.Equal(stored.Data, data) {
		return nil
	}
	m := stored.DeepCopy()
	m.Data = data
	return c.write.UpdateConfigMap(ctx, m)
}

// refused returns nil for errors of a creation that is not needed: the object exists, or the
// namespace is being deleted.
func refused(err error) error {
	if apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) ||
		apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return nil
	}
	return err
}
