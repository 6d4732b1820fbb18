package app

import (
	"fmt"
	"net/http"
	"reflect"
	"sync"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// lookAtKubeconfig is how long the content of a kubeconfig is used before the file is read again.
const lookAtKubeconfig = 10 * time.Second

// credentials sends requests with the current credentials of the kubeconfig, because certificates
// expire and are replaced while a process runs. The server and the context stay those of the start.
// client-go itself reads files again that a kubeconfig only names.
type credentials struct {
	opts    apartOptions
	context string
	host    string
	now     func() time.Time
	say     func(format string, args ...any)

	mu        sync.Mutex // guards the fields below
	checked   time.Time
	loaded    *clientcmdapi.Config
	transport http.RoundTripper
	failure   string // the failure that was printed last
}

// reloadingConfig returns a config like cfg, which was read from the kubeconfig of o, that follows later
// changes of the kubeconfig.
func (o apartOptions) reloadingConfig(
	cfg *rest.Config, now func() time.Time, say func(format string, args ...any),
) (*rest.Config, error) {
	server, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("address of the API server: %w", err)
	}
	seen, err := o.rules().Load()
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig: %w", err)
	}
	transport, err := rest.TransportFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig: %w", err)
	}
	c := &credentials{
		opts: o, context: seen.CurrentContext, host: cfg.Host, now: now, say: say,
		checked: now(), loaded: seen, transport: transport,
	}
	// Clients must not repeat what the transport does.
	return &rest.Config{
		Host:               server.String(),
		Transport:          c,
		QPS:                cfg.QPS,
		Timeout:            cfg.Timeout,
		DisableCompression: cfg.DisableCompression,
	}, nil
}

// RoundTrip implements http.RoundTripper.
func (c *credentials) RoundTrip(req *http.Request) (*http.Response, error) {
	return c.currentTransport().RoundTrip(req)
}

// currentTransport returns the transport for a request that is sent now.
func (c *credentials) currentTransport() http.RoundTripper {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.now(); now.Sub(c.checked) >= lookAtKubeconfig {
		c.checked = now
		failure := ""
		if err := c.reload(); err != nil {
			failure = err.Error()
		}
		if failure != "" && failure != c.failure {
			c.say("the kubeconfig has changed, and the old one is used on: %s", failure)
		}
		c.failure = failure
	}
	return c.transport
}

// reload reads the kubeconfig. An invalid one, which may be half written, is read again the next
// time.
func (c *credentials) reload() error {
	seen, err := c.opts.rules().Load()
	if err != nil {
		return err
	}
	if reflect.DeepEqual(seen, c.loaded) {
		return nil
	}
	overrides := &clientcmd.ConfigOverrides{CurrentContext: c.context}
	cfg, err := clientcmd.NewNonInteractiveClientConfig(*seen, c.context, overrides, c.opts.rules()).ClientConfig()
	if err != nil {
		return err
	}
	if cfg.Host != c.host {
		return fmt.Errorf("the API server is %s now; start anew to use it", cfg.Host)
	}
	transport, err := rest.TransportFor(cfg)
	if err != nil {
		return err
	}
	// Pending requests continue; a connection without any is closed.
	utilnet.CloseIdleConnectionsFor(c.transport)
	c.loaded, c.transport = seen, transport
	c.say("the kubeconfig has changed, and is used as it is now")
	return nil
}
