package kubelet

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// node is this machine as one of the nodes of a cluster: a kubelet, a container runtime, and the
// example driver with one device.
type node struct {
	cluster *cluster
	name    string
	// address is that of the node, and subnet that of its pods.
	address, subnet string
	kubelet         *process
	runtime         *process
	driver          *process
}

// root returns the folder of the node.
func (n *node) root() string { return filepath.Join(n.cluster.root, n.name) }

// dir returns the folder of the kubelet.
func (n *node) dir() string { return filepath.Join(n.root(), "kubelet") }

// state returns the folder of the container runtime that a machine loses when it is switched off.
func (n *node) state() string { return filepath.Join(n.root(), "run") }

func (n *node) socket() string { return filepath.Join(n.root(), "cri.sock") }

// path returns the environment in which programs of bin are found first.
func (n *node) path() []string { return []string{"PATH=" + programs() + ":" + os.Getenv("PATH")} }

func (n *node) write(t *testing.T, name, content string) string {
	t.Helper()
	return n.cluster.write(t, filepath.Join(n.name, name), content)
}

// ctr runs the client of containerd.
func (n *node) ctr(args ...string) (string, error) {
	return try(nil, "", program("ctr"), append([]string{"--address", n.socket(), "-n", "k8s.io"}, args...)...)
}

// network is the configuration of the pods' network: each pod has a link to the machine.
const network = `{"cniVersion": "1.0.0", "name": "pods", "plugins": [
  {"type": "ptp", "ipam": {"type": "host-local", "subnet": "%s", "dataDir": "%s"}}]}`

// runtimeConfig is the configuration of containerd. Without restrict_oom_score_adj, runc cannot start
// a sandbox where root may not lower an OOM score, and says "can't get final child's PID from pipe".
const runtimeConfig = `
version = 3
root = "%[1]s/containerd"
state = "%[1]s/run"
[grpc]
  address = "%[2]s"
[plugins."io.containerd.nri.v1.nri"]
  disable = true
[plugins."io.containerd.internal.v1.opt"]
  path = "%[1]s/opt"
[plugins."io.containerd.cri.v1.images"]
  snapshotter = "native"
  [plugins."io.containerd.cri.v1.images".pinned_images]
    sandbox = "%[3]s"
[plugins."io.containerd.cri.v1.runtime"]
  enable_selinux = false
  restrict_oom_score_adj = true
  disable_apparmor = true
  cdi_spec_dirs = ["%[1]s/cdi"]
  [plugins."io.containerd.cri.v1.runtime".cni]
    conf_dir = "%[1]s/cni"
    bin_dirs = ["%[4]s"]
`

// startRuntime starts a container runtime with the image of the test.
func (n *node) startRuntime(t *testing.T) {
	t.Helper()
	n.write(t, "cni/10-pods.conflist", fmt.Sprintf(network, n.subnet, filepath.Join(n.root(), "ipam")))
	config := n.write(t, "containerd.toml", fmt.Sprintf(runtimeConfig, n.root(), n.socket(), image, programs()))
	n.runtime = start(t, n.path(), program("containerd"), "--config", config)
	t.Cleanup(func() { n.killContainers(t) })
	n.runtimeServes(t)
	if out, err := n.ctr("images", "import", "--local", "--snapshotter", "native", writeImage(t, n.root())); err != nil {
		t.Fatalf("import the image: %v\n%s", err, out)
	}
}

func (n *node) runtimeServes(t *testing.T) {
	t.Helper()
	eventually(t, time.Minute, "Server:", func() string { out, _ := n.ctr("version"); return out })
}

// kubeletConfig has what this kind of machine needs, and lets two nodes be on it.
const kubeletConfig = `
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: %[1]s
port: %[2]s
healthzPort: 0
failCgroupV1: false
failSwapOn: false
cgroupDriver: cgroupfs
cgroupsPerQOS: false
enforceNodeAllocatable: []
localStorageCapacityIsolation: false
nodeStatusUpdateFrequency: 2s
podLogsDir: %[3]s/logs
volumePluginDir: %[3]s/volumeplugins
`

// join runs the script of allot join-token.
func (n *node) join(t *testing.T) {
	t.Helper()
	n.write(t, "drop-in/10-sandbox.conf", fmt.Sprintf(kubeletConfig, n.address, freePort(t, n.address), n.root()))
	script := n.write(t, "join.sh", output(t, nil, program("allot"), "join-token", "--data-dir", n.cluster.data,
		"--node-name", n.name, "--kubelet-dir", n.dir(), "--container-runtime-endpoint", "unix://"+n.socket()))
	n.kubelet = start(t, n.path(), "sh", script, "--node-ip", n.address,
		"--config-dir", filepath.Join(n.root(), "drop-in"))
}

// startDriver starts the example driver with one device, when the kubelet has its folder for drivers.
func (n *node) startDriver(t *testing.T) {
	t.Helper()
	eventually(t, time.Minute, "exists", func() string {
		if _, err := os.Stat(filepath.Join(n.dir(), "plugins_registry")); err != nil {
			return err.Error()
		}
		return "exists"
	})
	n.driver = start(t, []string{"KUBECONFIG=" + n.cluster.kubeconfig()}, program("driver"), "--node", n.name,
		"--kubelet", n.dir(), "--cdi", filepath.Join(n.root(), "cdi"), "--devices", "1")
}

// ready waits until the node is ready.
func (n *node) ready(t *testing.T) {
	t.Helper()
	eventually(t, commandTime, "True", func() string {
		return n.cluster.get("node/"+n.name, `{range .status.conditions[?(@.type=="Ready")]}{.status} {.message}{end}`)
	})
}

// as runs kubectl with the certificate of the node.
func (n *node) as(args ...string) (string, error) {
	return n.cluster.try(append([]string{"--kubeconfig", filepath.Join(n.dir(), "kubeconfig")}, args...)...)
}

// powerOff ends all processes of the node without warning, and what memory alone has is lost.
func (n *node) powerOff(t *testing.T) {
	t.Helper()
	n.kubelet.kill()
	n.driver.kill()
	n.runtime.kill()
	n.killContainers(t)
	unmount(t, n.state())
	if err := os.RemoveAll(n.state()); err != nil {
		t.Fatal(err)
	}
}

// powerOn starts all processes of the node.
func (n *node) powerOn(t *testing.T) {
	t.Helper()
	n.runtime.start(t)
	n.runtimeServes(t)
	n.kubelet.start(t)
	n.driver.start(t)
}

// killContainers kills the processes in containers, and those of the runtime that watch them.
func (n *node) killContainers(t *testing.T) {
	t.Helper()
	shims := map[int]bool{}
	parents := map[int]int{}
	for _, pid := range processes(t) {
		dir := filepath.Join("/proc", strconv.Itoa(pid))
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		args := strings.Split(string(line), "\x00")
		shims[pid] = strings.HasSuffix(args[0], "containerd-shim-runc-v2") && strings.Contains(string(line), n.socket())
		parents[pid] = parent(filepath.Join(dir, "stat"))
	}
	for pid, p := range parents {
		if shims[pid] || shims[p] {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

func processes(t *testing.T) []int {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	var out []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			out = append(out, pid)
		}
	}
	return out
}

// parent returns the parent of a process, of which stat is the file in /proc, or 0 if it has ended.
func parent(stat string) int {
	text, _ := os.ReadFile(stat)
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 2 {
		return 0
	}
	pid, _ := strconv.Atoi(fields[1])
	return pid
}
