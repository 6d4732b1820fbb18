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

// lookAtCertificates is the interval at which a server checks whether a certificate must be
// renewed.
const lookAtCertificates = time.Hour

// certificates are the certificates that a server uses and issues. They are renewed while it runs,
// long before they expire.
type certificates struct {
	authority *pki.Authority
	address   net.Addr

	mu          sync.Mutex // guards the fields below
	serving     pki.Pair
	listeners   []dynamiccertificates.Listener
	kubeconfigs map[string]*kubeconfig // by path
}

var _ dynamiccertificates.CertKeyContentProvider = (*certificates)(nil)

func newCertificates(authority *pki.Authority, address net.Addr) (*certificates, error) {
	c := &certificates{authority: authority, address: address, kubeconfigs: map[string]*kubeconfig{}}
	return c, c.renewServing()
}

// run renews certificates until ctx ends. Errors are retried in the next interval.
func (c *certificates) run(ctx context.Context, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		// With this order, the certificate of the server is signed by the authority that the
		// kubeconfigs trust.
		if err := errors.Join(c.renewKubeconfigs(), c.renewServing()); err != nil {
			utilruntime.HandleError(fmt.Errorf("renew certificates: %w", err))
		}
	}
}

// renewServing renews the server's certificate unless it is valid for all addresses at which the
// server is currently reached.
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

// renewKubeconfigs writes the kubeconfigs whose certificate was renewed.
func (c *certificates) renewKubeconfigs() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for _, k := range c.kubeconfigs {
		errs = append(errs, k.write(c.authority))
	}
	return errors.Join(errs...)
}

// addKubeconfig writes a kubeconfig, now and whenever its certificate is renewed.
func (c *certificates) addKubeconfig(k *kubeconfig) error {
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
