package kubelet

import (
	"net"
	"os"
	"strings"
	"testing"
)

// forwarding is the setting of the machine that the network plugin switches on.
const forwarding = "/proc/sys/net/ipv4/ip_forward"

// prepareNetwork keeps the settings of the machine as they are, after the test.
func prepareNetwork(t *testing.T) {
	t.Helper()
	before, err := os.ReadFile(forwarding)
	if err != nil {
		t.Skipf("no network for pods: %v", err)
	}
	t.Cleanup(func() {
		if err := os.WriteFile(forwarding, before, 0o600); err != nil {
			t.Error(err)
		}
	})
}

// localAddress adds an address to the loopback interface for the time of the test: a kubelet refuses
// a loopback address as that of its node, and nothing outside of this machine reaches this one.
func localAddress(t *testing.T, address string) {
	t.Helper()
	if out, err := try(nil, "", "ip", "address", "add", address+"/32", "dev", "lo"); err != nil &&
		!strings.Contains(out, "exists") && !strings.Contains(out, "assigned") {
		t.Skipf("no address for the node: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := try(nil, "", "ip", "address", "del", address+"/32", "dev", "lo"); err != nil {
			t.Errorf("remove the address: %v: %s", err, out)
		}
	})
}

func freePort(t *testing.T, address string) string {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}
