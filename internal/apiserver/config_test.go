package apiserver

import (
	"context"
	"errors"
	"net"
	"slices"
	"testing"
)

// A server without a configured port uses its last port again, unless another process uses it.
func TestListenOnTheLastPort(t *testing.T) {
	port := func(listener net.Listener) string {
		_, port, _ := net.SplitHostPort(listener.Addr().String())
		return port
	}
	listen := func(address, last string) net.Listener {
		t.Helper()
		listener, err := Config{Listen: address, LastPort: last}.listen()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { listener.Close() })
		return listener
	}
	first := listen(defaultListen, "")
	taken := port(first)
	if other := listen(defaultListen, taken); port(other) == taken {
		t.Error("two servers on one port")
	}
	first.Close()
	if again := listen(defaultListen, taken); port(again) != taken {
		t.Errorf("port %s, not %s", port(again), taken)
	}
	if _, err := (Config{Listen: "127.0.0.1:" + taken}).listen(); err == nil {
		t.Error("a port that was asked for is taken, and that is no error")
	}
	if other := listen(defaultListen, "no port"); port(other) == taken {
		t.Error("two servers on one port")
	}
}

func TestCheckOtherEtcd(t *testing.T) {
	for _, wrong := range []ExternalEtcd{
		{URLs: []string{"127.0.0.1:2379"}}, {URLs: []string{"etcd"}}, {URLs: []string{"http://"}},
		{URLs: []string{"ftp://x"}}, {CertFile: "x"},
	} {
		if wrong.check() == nil {
			t.Errorf("%v is taken", wrong)
		}
	}
	if err := (ExternalEtcd{URLs: []string{"http://127.0.0.1:2379", "unix:///tmp/a/etcd.sock"},
		CAFile: "ca"}).check(); err != nil {
		t.Error(err)
	}
}

// A start that waits for an etcd ends when its context is cancelled.
func TestStartIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Start(ctx, Config{DataDir: t.TempDir(), Etcd: ExternalEtcd{URLs: []string{"http://127.0.0.1:1"}}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Start = %v", err)
	}
}

// The kubeconfig of a server on all addresses has an address for which its certificate is valid.
func TestServerOnAllAddressesIsReached(t *testing.T) {
	for _, ip := range []net.IP{net.IPv4zero, net.IPv6unspecified} {
		if got := reachedAt(&net.TCPAddr{IP: ip, Port: 80}); got != "127.0.0.1:80" {
			t.Errorf("%s is reached at %s", ip, got)
		}
	}
	if got := reachedAt(&net.TCPAddr{IP: net.IPv6loopback, Port: 80}); got != "[::1]:80" {
		t.Errorf("::1 is reached at %s", got)
	}
}

// The certificate of a server on all addresses is valid for those by which other machines connect.
func TestServingHosts(t *testing.T) {
	addresses := func(list ...string) func() ([]net.Addr, error) {
		var out []net.Addr
		for _, text := range list {
			ip, network, err := net.ParseCIDR(text)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, &net.IPNet{IP: ip, Mask: network.Mask})
		}
		return func() ([]net.Addr, error) { return out, nil }
	}
	machine := addresses("127.0.0.1/8", "192.0.2.7/24", "2001:db8::7/64", "fe80::7/64")
	for _, tt := range []struct {
		listen string
		want   []string
	}{
		{"127.0.0.1", nil}, {"::1", nil}, {"192.0.2.9", []string{"192.0.2.9"}},
		{"0.0.0.0", []string{"192.0.2.7", "2001:db8::7"}}, {"::", []string{"192.0.2.7", "2001:db8::7"}},
	} {
		got, err := servingHosts(&net.TCPAddr{IP: net.ParseIP(tt.listen), Port: 80}, machine)
		if want := append([]string{"localhost", "127.0.0.1", "::1"}, tt.want...); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s is reached as %q, not %q: %v", tt.listen, got, want, err)
		}
	}
	broken := func() ([]net.Addr, error) { return nil, errors.New("no answer") }
	if _, err := servingHosts(&net.TCPAddr{IP: net.IPv4zero, Port: 80}, broken); err == nil {
		t.Error("the addresses are not known, and that is no error")
	}
}
