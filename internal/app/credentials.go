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

// lookAtKubeconfig is how long a kubeconfig that was read is taken for the present one.
const lookAtKubeconfig = 10 * time.Second

// credentials send requests with what the kubeconfig says at the time: its certificates end, and others take their place
// while a process runs. The server, and the context that was in use at the start, stay. Files that a kubeconfig only names
// are read again by client-go.
type credentials struct {
	opts    apartOptions
	context string
	host    string
	now     func() time.Time
	say     func(format string, args ...any)

	mu        sync.Mutex // guards what follows
	looked    time.Time
	seen      *clientcmdapi.Config
	transport http.RoundTripper
	failure   string // what was said last
}

// following is cfg, which was read from the kubeconfig of o, for a process that is to go by later ones too.
func (o apartOptions) following(cfg *rest.Config, now func() time.Time, say func(format string, args ...any)) (*rest.Config, error) {
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
		looked: now(), seen: seen, transport: transport,
	}
	// What the transport has done is not to be done again by clients.
	return &rest.Config{Host: server.String(), Transport: c, QPS: cfg.QPS, Timeout: cfg.Timeout, DisableCompression: cfg.DisableCompression}, nil
}

// RoundTrip implements http.RoundTripper.
func (c *credentials) RoundTrip(req *http.Request) (*http.Response, error) {
	return c.present().RoundTrip(req)
}

// present is the transport for a request that is made now.
func (c *credentials) present() http.RoundTripper {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.now(); now.Sub(c.looked) >= lookAtKubeconfig {
		c.looked = now
		failure := ""
		if err := c.look(); err != nil {
			failure = err.Error()
		}
		if failure != "" && failure != c.failure {
			c.say("the kubeconfig has changed, and the old one is used on: %s", failure)
		}
		c.failure = failure
	}
	return c.transport
}

// look reads the kubeconfig. One that cannot be used, which may be half written, is read again the next time.
func (c *credentials) look() error {
	seen, err := c.opts.rules().Load()
	if err != nil {
		return err
	}
	if reflect.DeepEqual(seen, c.seen) {
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
	// Requests that are under way go on; a connection that has none left is closed.
	utilnet.CloseIdleConnectionsFor(c.transport)
	c.seen, c.transport = seen, transport
	c.say("the kubeconfig has changed, and is used as it is now")
	return nil
}
