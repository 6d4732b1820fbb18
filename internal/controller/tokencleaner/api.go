package tokencleaner

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/controller/reconciler"
)

// New returns the controller of the secrets in inf's cache. It must be called before inf is started.
func New(set *client.Set, inf *client.Informers) *Controller {
	secrets := inf.SystemSecrets()
	c := &Controller{secrets: secrets, server: server{set}, clock: clock.RealClock{}}
	runner := reconciler.New("token-cleaner", c.Reconcile, reconciler.Options{Ready: inf.WaitForSync})
	c.queue, c.run = runner, runner.Run
	secrets.OnChange(c.onSecret)
	return c
}

type server struct{ set *client.Set }

func (s server) DeleteSecret(ctx context.Context, secret *corev1.Secret) error {
	return s.set.Secrets(secret.Namespace).Delete(ctx, secret.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &secret.UID, ResourceVersion: &secret.ResourceVersion},
	})
}
