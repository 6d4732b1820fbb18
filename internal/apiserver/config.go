package apiserver

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/allot-dev/allot/internal/features"
)

// Config configures a server.
type Config struct {
	// DataDir is the directory for certificates and the embedded etcd's files.
	DataDir string
	// Listen is the address to serve on, by default a free port of 127.0.0.1.
	Listen string
	// LastPort is tried first if Listen leaves the port open, so that clients find the server
	// again. Optional.
	LastPort string
	// PKIDir is the directory for certificates, by default pki in DataDir. Servers on one etcd
	// share it, so that clients can use any of them.
	PKIDir string
	// Etcd is the etcd to use instead of the embedded one, if it has URLs.
	Etcd ExternalEtcd
	// UnsafeNoFsync makes the embedded etcd faster and not durable.
	UnsafeNoFsync bool
	// Metrics serves /metrics. Default: the metrics of the API server.
	Metrics http.Handler
	// DeviceRefused is called for each write of a claim that is refused because another claim has one
	// of its devices. Optional.
	DeviceRefused func()
	// TokenFile is the name of a CSV file with static tokens (token,user,uid,"group,…"); optional.
	TokenFile string
	// TracingFile is the name of a TracingConfiguration, as for kube-apiserver; optional.
	TracingFile string
	// ServiceAccounts means that pods run as ServiceAccounts, and that a pod is rejected if its
	// account does not exist. It needs the controller that creates an account in each namespace.
	ServiceAccounts bool
	// ServiceClusterIPRange is the range of the cluster IPs of Services. Default: 10.96.0.0/12.
	ServiceClusterIPRange netip.Prefix
	// Features are the enabled features. The zero value enables all.
	Features features.Set

	// now is the clock for certificates, and renewEvery the interval at which they are checked.
	now        func() time.Time
	renewEvery time.Duration
}

// ExternalEtcd configures the access to an external etcd.
type ExternalEtcd struct {
	// URLs are the addresses of its members, http or https.
	URLs []string
	// CAFile verifies its certificate; CertFile and KeyFile are the client certificate for it.
	// Optional.
	CAFile, CertFile, KeyFile string
}

// DefaultServiceRange is the default range of the cluster IPs of Services.
var DefaultServiceRange = netip.MustParsePrefix("10.96.0.0/12")

const defaultListen = "127.0.0.1:0"

func (c Config) completed() (Config, error) {
	if c.DataDir == "" {
		return c, errors.New("data directory is not set")
	}
	if c.Listen == "" {
		c.Listen = defaultListen
	}
	if c.PKIDir == "" {
		c.PKIDir = filepath.Join(c.DataDir, "pki")
	}
	if c.now == nil {
		c.now = time.Now
	}
	if c.renewEvery == 0 {
		c.renewEvery = lookAtCertificates
	}
	if !c.ServiceClusterIPRange.IsValid() {
		c.ServiceClusterIPRange = DefaultServiceRange
	}
	if r := c.ServiceClusterIPRange; r.Bits() > r.Addr().BitLen()-3 {
		return c, fmt.Errorf("service cluster IP range %s has fewer than 8 addresses", c.ServiceClusterIPRange)
	}
	return c, c.Etcd.check()
}

func (e ExternalEtcd) check() error {
	if len(e.URLs) == 0 && (e.CAFile != "" || e.CertFile != "" || e.KeyFile != "") {
		return errors.New("files for an external etcd are set, but no URL")
	}
	for _, text := range e.URLs {
		u, err := url.Parse(text)
		if err != nil || !slices.Contains([]string{"http", "https", "unix", "unixs"}, u.Scheme) || u.Host+u.Path == "" {
			return fmt.Errorf("%q is not the URL of an etcd, such as http://127.0.0.1:2379", text)
		}
	}
	return nil
}

func (c Config) etcdDir() string { return filepath.Join(c.DataDir, "etcd") }

// listen opens the address to serve on.
func (c Config) listen() (net.Listener, error) {
	if host, port, err := net.SplitHostPort(c.Listen); err == nil && port == "0" && c.LastPort != "" {
		if listener, err := net.Listen("tcp", net.JoinHostPort(host, c.LastPort)); err == nil {
			return listener, nil
		}
	}
	listener, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	return listener, nil
}

// reachedAt returns the address of a listener for clients on this machine. A listener on all
// addresses is reached at the loopback address.
func reachedAt(addr net.Addr) string {
	if tcp, ok := addr.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp.Port))
	}
	return addr.String()
}

// servingHosts returns the names under which the server is reached at addr. A listener on all
// addresses has all addresses of the machine.
func servingHosts(addr net.Addr, machine func() ([]net.Addr, error)) ([]string, error) {
	host, _, err := net.SplitHostPort(addr.String())
	if err != nil {
		return nil, fmt.Errorf("listen address %s: %w", addr, err)
	}
	hosts := []string{"localhost", "127.0.0.1", "::1"}
	ip := net.ParseIP(host)
	switch {
	case ip == nil || ip.IsLoopback():
		return hosts, nil
	case !ip.IsUnspecified():
		return append(hosts, host), nil
	}
	addresses, err := machine()
	if err != nil {
		return nil, fmt.Errorf("addresses of this machine: %w", err)
	}
	for _, a := range addresses {
		if of, ok := a.(*net.IPNet); ok && of.IP.IsGlobalUnicast() {
			hosts = append(hosts, of.IP.String())
		}
	}
	return hosts, nil
}
