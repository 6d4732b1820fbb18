package cluster

import (
	"context"
	"fmt"
	"net"
	"net/http"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// AwaitReady waits until an API server is ready that writes a kubeconfig, and returns the client
// configuration in that.
func AwaitReady(ctx context.Context, server *Process, kubeconfig string) (*rest.Config, error) {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	var cfg *rest.Config
	err := until(ctx, server, func() (err error) {
		if cfg, err = clientcmd.BuildConfigFromFlags("", kubeconfig); err != nil {
			return err
		}
		return isReady(ctx, cfg)
	})
	return cfg, err
}

// isReady returns an error if an API server is not ready.
func isReady(ctx context.Context, cfg *rest.Config) error {
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return err
	}
	return responds(ctx, client, cfg.Host+"/readyz")
}

// responds returns an error if a URL does not respond with 200.
func responds(ctx context.Context, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, resp.Status)
	}
	return nil
}

// accepts returns an error if nothing listens on a port.
func accepts(ctx context.Context, port int) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return err
	}
	return conn.Close()
}
