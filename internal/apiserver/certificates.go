package apiserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"

	"github.com/allot-dev/allot/internal/pki"
)

// lookAtCertificates is how often a server looks whether one of its certificates is to be made anew.
const lookAtCertificates = time.Hour

// certificates are those that a server shows and gives out. They are made anew while it runs, long before they end.
type certificates struct {
	authority *pki.Authority
	address   net.Addr

	mu          sync.Mutex // guards what follows
	serving     pki.Pair
	listeners   []dynamiccertificates.Listener
	kubeconfigs map[string]*kubeconfig // by path
}

var _ dynamiccertificates.CertKeyContentProvider = (*certificates)(nil)

func newCertificates(authority *pki.Authority, address net.Addr) (*certificates, error) {
	c := &certificates{authority: authority, address: address, kubeconfigs: map[string]*kubeconfig{}}
	return c, c.renewServing()
}

// run renews what is due until ctx ends. What goes wrong is tried again the next time.
func (c *certificates) run(ctx context.Context, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		// In this order, the server's is signed by the authority that the kubeconfigs trust.
		if err := errors.Join(c.renewKubeconfigs(), c.renewServing()); err != nil {
			utilruntime.HandleError(fmt.Errorf("renew certificates: %w", err))
		}
	}
}

// renewServing sees to it that the server's certificate is good for all addresses at which the server is reached now.
func (c *certificates) renewServing() error {
	hosts, err := servingHosts(c.address, net.InterfaceAddrs)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.authority.Serves(c.serving, hosts) {
		return nil
	}
	if c.serving, err = c.authority.Serving(c.Name(), hosts); err != nil {
		return err
	}
	for _, l := range c.listeners {
		l.Enqueue()
	}
	return nil
}

// renewKubeconfigs writes those anew that have a certificate that was renewed.
func (c *certificates) renewKubeconfigs() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for _, k := range c.kubeconfigs {
		errs = append(errs, k.write(c.authority))
	}
	return errors.Join(errs...)
}

// keep writes a kubeconfig, now and whenever its certificate is renewed.
func (c *certificates) keep(k *kubeconfig) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kubeconfigs[k.path] = k
	return k.write(c.authority)
}

// Name implements dynamiccertificates.CertKeyContentProvider.
func (*certificates) Name() string { return "server" }

// CurrentCertKeyContent implements dynamiccertificates.CertKeyContentProvider.
func (c *certificates) CurrentCertKeyContent() (cert, key []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return bytes.Clone(c.serving.Cert), bytes.Clone(c.serving.Key)
}

// AddListener implements dynamiccertificates.Notifier.
func (c *certificates) AddListener(l dynamiccertificates.Listener) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listeners = append(c.listeners, l)
}
