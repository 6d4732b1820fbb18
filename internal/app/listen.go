package app

import (
	"fmt"
	"net"
	"net/url"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
)

// listenUsage explains --listen, of which kind the address has to be.
func listenUsage(kind string) string {
	return kind + " to serve on; port 0 is the port that was used last with this data directory, or a free one where that is taken"
}

// checkAddress takes an address apart, and refuses one that cannot be.
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

// checkLoopback refuses an address that others than this machine can reach.
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

// lastPort is the port of the server that ran in the data directory before, as its kubeconfig has it; "" if it has none.
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
