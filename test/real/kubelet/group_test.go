package kubelet

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// group is one of the two PodGroups of KEP-5729's example.
type group struct {
	deployment string
	label      string
	claim      string
	// node is where its pods are.
	node *node
}

// group returns the PodGroup with a number.
func (s *site) group(number string) group {
	g := group{deployment: "wl-claim-example-" + number, label: "app=wl-claim-example-" + number}
	g.claim = s.get("podgroup/my-podgroup-"+number, "{.status.resourceClaimStatuses[0].resourceClaimName}")
	for _, n := range s.nodes {
		if slices.Contains(s.where(g), n.name) {
			g.node = n
		}
	}
	return g
}

// where returns the nodes of the group's pods.
func (s *site) where(g group) []string {
	out, _ := s.try("get", "pods", "-l", g.label, "-o", "jsonpath={.items[*].spec.nodeName}")
	return strings.Fields(out)
}

// containers returns the containers of the group's pods, by pod.
func (s *site) containers(g group) map[string]string {
	out, _ := s.try("get", "pods", "-l", g.label, "-o",
		`jsonpath={range .items[*]}{.metadata.name} {.status.containerStatuses[0].containerID}{"\n"}{end}`)
	all := map[string]string{}
	for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
		pod, id, _ := strings.Cut(line, " ")
		all[pod] = id
	}
	return all
}

// have checks that each pod of the group has the device of its node.
func (s *site) have(t *testing.T, g group, count int) {
	t.Helper()
	s.running(t, g.label, count)
	for _, name := range s.where(g) {
		if name != g.node.name {
			t.Errorf("a pod of %s is on %s, not on %s", g.deployment, name, g.node.name)
		}
	}
	for pod := range s.containers(g) {
		if env := s.kubectl(t, "exec", pod, "--", "/app", "env", "GPU"); env != "GPU_DEVICE_0=gpu-0" {
			t.Errorf("%s has %q", pod, env)
		}
	}
}

// called checks how often the driver of the group was called for its claim.
func (g group) called(t *testing.T, method string, want int) {
	t.Helper()
	if got := calls(g.node.driver, method, g.claim); got != want {
		t.Errorf("%s %s: %d calls, want %d:\n%s", method, g.claim, got, want, g.node.driver.log.tail(20))
	}
}

// kept checks that the containers of before still run.
func (s *site) kept(t *testing.T, g group, before map[string]string) {
	t.Helper()
	now := s.containers(g)
	for pod, id := range before {
		if now[pod] != id {
			t.Errorf("pod %s had container %s, and has %s", pod, id, now[pod])
		}
	}
}

// gone waits until the group has no pods.
func (s *site) gone(t *testing.T, g group) {
	t.Helper()
	eventually(t, commandTime, "No resources found", func() string {
		out, _ := s.try("get", "pods", "-l", g.label)
		return out
	})
}

// groups: KEP-5729's example runs in real containers. Each of its groups has the only device of a
// node. The claim is prepared for the first pod, and not for one that comes later; for pods that start
// in the same moment, a kubelet 1.37 may call the driver for each.
func (s *site) groups(t *testing.T) {
	example, err := os.ReadFile(filepath.Join(repository(), "examples", "kep-5729.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	const class = `device.driver == "sim.allot.dev"`
	if strings.Count(string(example), class) != 1 || !strings.Contains(string(example), kepImage) {
		t.Fatal("the example has changed")
	}
	manifest := strings.ReplaceAll(string(example), class, `device.driver == "gpu.example.com"`)
	// The example has a CRD and an object of its kind, which kubectl knows the second time.
	eventually(t, time.Minute, "myworkload.example.com/my-workload", func() string {
		out, _ := s.input(manifest, "apply", "-f", "-")
		return out
	})
	s.running(t, "app=wl-claim-example-1", 2)
	s.running(t, "app=wl-claim-example-2", 2)
	one, two := s.group("1"), s.group("2")
	if one.node == two.node || one.claim == two.claim {
		t.Fatalf("both groups have claim %s on %s", one.claim, one.node.name)
	}
	for _, g := range []group{one, two} {
		s.have(t, g, 2)
		if got := calls(g.node.driver, "prepare", g.claim); got < 1 || got > 2 {
			t.Errorf("claim %s of 2 pods was prepared %d times", g.claim, got)
		}
		g.called(t, "unprepare", 0)
	}
}

// allotEnds: allot is killed while more pods of a group start. Running containers stay, and the claim
// is not prepared again.
func (s *site) allotEnds(t *testing.T) {
	g := s.group("1")
	before, prepared := s.containers(g), calls(g.node.driver, "prepare", g.claim)
	s.kubectl(t, "scale", "deployment", g.deployment, "--replicas=4")
	s.crash(t)
	s.have(t, g, 4)
	s.kept(t, g, before)
	g.called(t, "prepare", prepared)
	for _, n := range s.nodes {
		n.ready(t)
	}
	s.kubectl(t, "scale", "deployment", g.deployment, "--replicas=2")
	s.running(t, g.label, 2)
	g.called(t, "unprepare", 0)
}

// kubeletEnds: a pod of the group is deleted while no kubelet runs. The kubelet that starts ends it,
// starts the pod that replaces it, and leaves the other container running.
func (s *site) kubeletEnds(t *testing.T) {
	g := s.group("1")
	before := s.containers(g)
	g.node.kubelet.kill()
	gone := slices.Sorted(maps.Keys(before))[0]
	s.kubectl(t, "delete", "pod", gone, "--wait=false")
	g.node.kubelet.start(t)
	s.kubectl(t, "wait", "--for=delete", "pod/"+gone, "--timeout=90s")
	s.have(t, g, 2)
	delete(before, gone)
	s.kept(t, g, before)
	g.called(t, "unprepare", 0)
}

// driverEnds: while a driver is away, pods of a group with a prepared claim start. The last pod ends
// when the driver is back and has unprepared the claim.
func (s *site) driverEnds(t *testing.T) {
	g := s.group("2")
	g.node.driver.kill()
	s.kubectl(t, "scale", "deployment", g.deployment, "--replicas=3")
	s.have(t, g, 3)
	s.kubectl(t, "scale", "deployment", g.deployment, "--replicas=0")
	time.Sleep(5 * time.Second)
	g.called(t, "unprepare", 0)
	g.node.driver.start(t)
	s.gone(t, g)
	if calls(g.node.driver, "unprepare", g.claim) == 0 {
		t.Errorf("claim %s was not unprepared:\n%s", g.claim, g.node.driver.log.tail(20))
	}
	s.kubectl(t, "scale", "deployment", g.deployment, "--replicas=2")
	s.have(t, g, 2)
}

// nodeEnds: all processes of a node end without warning. Its pods run again when it is back, with
// their device.
func (s *site) nodeEnds(t *testing.T) {
	g := s.group("2")
	before := s.containers(g)
	g.node.powerOff(t)
	g.node.powerOn(t)
	for pod, id := range before {
		eventually(t, commandTime, "another", func() string {
			now := s.get("pod/"+pod, "{.status.containerStatuses[0].containerID}")
			if now != "" && now != id {
				return "another"
			}
			return now
		})
	}
	s.have(t, g, 2)
}

// last: a claim is unprepared after the last pod of its group, and not before; nothing is left.
func (s *site) last(t *testing.T) {
	g := s.group("1")
	s.kubectl(t, "scale", "deployment", g.deployment, "--replicas=1")
	s.running(t, g.label, 1)
	g.called(t, "unprepare", 0)
	s.kubectl(t, "scale", "deployment", g.deployment, "--replicas=0")
	s.gone(t, g)
	g.called(t, "unprepare", 1)
	s.kubectl(t, "delete", "deployments,podgroups,workloads", "--all", "--timeout=90s")
	s.noClaims(t)
}
