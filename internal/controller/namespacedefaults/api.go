package namespacedefaults

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/controller/reconciler"
)

// New returns the controller of the namespaces in inf's cache. It must be called before inf is
// started. Without rootCA there is no ConfigMap.
func New(set *client.Set, inf *client.Informers, rootCA []byte) *Controller {
	c := &Controller{
		namespaces: inf.Namespaces(), accounts: inf.DefaultServiceAccounts(), maps: inf.RootCAConfigMaps(),
		write: server{set}, rootCA: string(rootCA),
	}
	runner := reconciler.New("namespacedefaults", c.Reconcile, reconciler.Options{Ready: inf.WaitForSync})
	c.queue, c.run = runner, runner.Run
	inf.Namespaces().OnChange(func(_, after *corev1.Namespace) {
		if after != nil {
			c.queue.Add(after.Name)
		}
	})
	inf.DefaultServiceAccounts().OnChange(func(before, after *corev1.ServiceAccount) {
		if after == nil {
			c.queue.Add(before.Namespace)
		}
	})
	inf.RootCAConfigMaps().OnChange(func(before, after *corev1.ConfigMap) {
		switch {
		case after == nil:
			c.queue.Add(before.Namespace)
		case before != nil:
			c.queue.Add(after.Namespace)
		}
	})
	return c
}

// server writes to the API.
type server struct{ set *client.Set }

func (s server) CreateServiceAccount(ctx context.Context, account *corev1.ServiceAccount) error {
	_, err := s.set.ServiceAccounts(account.Namespace).Create(ctx, account, metav1.CreateOptions{})
	return err
}

func (s server) CreateConfigMap(ctx context.Context, m *corev1.ConfigMap) error {
	_, err := s.set.ConfigMaps(m.Namespace).Create(ctx, m, metav1.CreateOptions{})
	return err
}

func (s server) UpdateConfigMap(ctx context.Context, m *corev1.ConfigMap) error {
	_, err := s.set.ConfigMaps(m.Namespace).Update(ctx, m, metav1.UpdateOptions{})
	return err
}
