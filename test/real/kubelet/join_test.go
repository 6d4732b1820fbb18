package kubelet

import (
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// site is a cluster with two real nodes.
type site struct {
	*cluster

	nodes [2]*node
}

// TestRealNodes: stock kubelets join by the script of allot join-token alone, have the rights of their
// nodes, run pods with devices of a DRA driver, of the pods themselves and of their groups, and serve
// logs, commands and ports; allot, kubelets, drivers and whole nodes end without warning in between
// (R63).
func TestRealNodes(t *testing.T) {
	switch {
	case runtime.GOOS != "linux":
		t.Skip("a kubelet runs on Linux")
	case os.Geteuid() != 0:
		t.Skip("a kubelet needs root")
	case testing.Short():
		t.Skip("building a kubelet takes minutes")
	}
	if _, err := os.Stat("/sys/fs/cgroup/memory"); err != nil {
		if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err != nil {
			t.Skip("a kubelet needs control groups in /sys/fs/cgroup")
		}
	}
	if !hasRunc() {
		t.Skip("there is no runc, and building it needs the headers of libseccomp (libseccomp-dev)")
	}
	prepareNetwork(t)
	addresses := [2]string{"198.51.100.77", "198.51.100.78"}
	for _, address := range addresses {
		localAddress(t, address)
	}
	if err := build(); err != nil {
		t.Fatal(err)
	}
	s := &site{cluster: startCluster(t)}
	for i, address := range addresses {
		n := &node{cluster: s.cluster, name: "real-" + string(rune('0'+i)), address: address,
			subnet: "198.18." + string(rune('0'+i)) + ".0/24"}
		n.startRuntime(t)
		n.join(t)
		n.startDriver(t)
		s.nodes[i] = n
	}
	for _, step := range []struct {
		name string
		run  func(t *testing.T)
	}{
		{"certificates are requested, approved and signed", s.certificates},
		{"nodes report themselves", s.registered},
		{"a node has the rights of its own", s.restricted},
		{"logs, commands, files and ports are reached", s.reached},
		{"drivers publish their devices", s.drivers},
		{"a pod has a device", s.device},
		{"pods run on simulated nodes and on real ones", s.beside},
		{"groups share claims", s.groups},
		{"a group outlives allot", s.allotEnds},
		{"a group outlives the kubelet", s.kubeletEnds},
		{"a claim outlives its driver", s.driverEnds},
		{"a group runs again after its node", s.nodeEnds},
		{"the last pod of a group ends", s.last},
	} {
		if !t.Run(step.name, step.run) {
			return // steps build on each other
		}
	}
}

func (s *site) certificates(t *testing.T) {
	for _, n := range s.nodes {
		eventually(t, commandTime, "Approved,Issued", func() string {
			out, _ := s.try("get", "csr", "-o", "wide")
			for _, line := range strings.Split(out, "\n") {
				if strings.Contains(line, "kubernetes.io/kube-apiserver-client-kubelet") &&
					strings.Contains(line, "system:bootstrap:") && strings.Contains(line, "Approved,Issued") {
					return line
				}
			}
			return out
		})
		eventually(t, time.Minute, "system:node:"+n.name, func() string { out, _ := n.as("auth", "whoami"); return out })
	}
}

func (s *site) registered(t *testing.T) {
	for _, n := range s.nodes {
		object := "node/" + n.name
		n.ready(t)
		if v := s.get(object, "{.status.nodeInfo.kubeletVersion}"); v != kubernetesVersion {
			t.Errorf("the kubelet of %s has version %q", n.name, v)
		}
		if v := s.get(object, "{.status.nodeInfo.containerRuntimeVersion}"); !strings.HasPrefix(v, "containerd://") {
			t.Errorf("the runtime of %s has version %q", n.name, v)
		}
		for _, kind := range []string{"leases", "csinodes"} {
			eventually(t, time.Minute, n.name, func() string {
				out, _ := s.try("get", kind, "-n", "kube-node-lease")
				return out
			})
		}
	}
}

func (s *site) restricted(t *testing.T) {
	n, other := s.nodes[0], s.nodes[1].name
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"get", "node", simulated}, "may only use the one with its own name"},
		{[]string{"get", "node", other}, "may only use the one with its own name"},
		{[]string{"label", "node", n.name, "node-restriction.kubernetes.io/a=b"}, "may not set the labels"},
		{[]string{"get", "secrets", "-A"}, "may only use single objects"},
		{[]string{"get", "pods", "-A"}, "spec.nodeName=" + n.name},
		{[]string{"delete", "node", n.name}, "orbidden"},
		{[]string{"delete", "node", other}, "orbidden"},
	} {
		if out, err := n.as(c.args...); err == nil || !strings.Contains(out, c.want) {
			t.Errorf("kubectl %s: %s, error %v, want %q", strings.Join(c.args, " "), out, err, c.want)
		}
	}
	if out, err := n.as("label", "node", n.name, "example.com/a=b"); err != nil {
		t.Errorf("the node labels itself: %s", out)
	}
}
