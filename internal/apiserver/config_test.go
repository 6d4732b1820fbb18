package apiserver

import (
	"context"
	"errors"
	"net"
	"testing"
)

// A port that is left open is the last one, unless somebody else has that meanwhile.
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
		{URLs: []string{"127.0.0.1:2379"}}, {URLs: []string{"etcd"}}, {URLs: []string{"http://"}}, {URLs: []string{"ftp://x"}}, {CertFile: "x"},
	} {
		if wrong.check() == nil {
			t.Errorf("%v is taken", wrong)
		}
	}
	if err := (ExternalEtcd{URLs: []string{"http://127.0.0.1:2379", "unix:///tmp/a/etcd.sock"}, CAFile: "ca"}).check(); err != nil {
		t.Error(err)
	}
}

// A start that waits for an etcd ends when it is told to.
func TestStartIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Start(ctx, Config{DataDir: t.TempDir(), Etcd: ExternalEtcd{URLs: []string{"http://127.0.0.1:1"}}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Start = %v", err)
	}
}

// The kubeconfig of a server on all addresses has one that its certificate is for.
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
