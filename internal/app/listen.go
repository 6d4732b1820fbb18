package app

import (
	"fmt"
	"net"
	"net/url"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
)

// listenUsage returns the help of --listen. kind describes the address.
func listenUsage(kind string) string {
	return kind + " to serve on; port 0 is the port that was used last with this data directory, or a free one where that is taken"
}

// checkAddress splits an address, and returns an error for an invalid one.
func checkAddress(address string) (host string, err error) {
	host, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil {
		return "", fmt.Errorf("--listen: %w", err)
	}
	return host, nil
}

// checkLoopback returns an error for an address that other machines can reach.
func checkLoopback(address string) error {
	host, err := checkAddress(address)
	if err != nil {
		return err
	}
	if host == "localhost" {
		return nil
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return fmt.Errorf("--listen: %q is not a loopback address", host)
	}
	return nil
}

// lastPort returns the port of the last server in the data directory, as in its kubeconfig, or "".
func lastPort(dir string) string {
	config, err := clientcmd.LoadFromFile(filepath.Join(dir, kubeconfigName))
	if err != nil {
		return ""
	}
	for _, cluster := range config.Clusters {
		if server, err := url.Parse(cluster.Server); err == nil {
			return server.Port()
		}
	}
	return ""
}
