package apiserver

import (
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
