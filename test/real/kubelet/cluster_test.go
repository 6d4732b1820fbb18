package kubelet

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// simulated is the name of the simulated node.
const simulated = "node-0"

// cluster is a control plane of allot up with one simulated node.
type cluster struct {
	// root is the folder of all files, data the data directory of allot.
	root, data string
	allot      *process
}

// startCluster starts a control plane. Sockets want short paths, and the image store the disk of the
// machine.
func startCluster(t *testing.T) *cluster {
	t.Helper()
	root, err := os.MkdirTemp("/var/tmp", "allot-")
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{root: root, data: filepath.Join(root, "data")}
	t.Cleanup(func() {
		unmount(t, root)
		if err := os.RemoveAll(root); err != nil {
			t.Error(err)
		}
	})
	c.allot = start(t, nil, program("allot"), "up", "--data-dir", c.data, "--nodes", "1",
		"--listen", net.JoinHostPort("127.0.0.1", freePort(t, "127.0.0.1")))
	c.serves(t)
	return c
}

func (c *cluster) serves(t *testing.T) {
	t.Helper()
	eventually(t, time.Minute, simulated, func() string { out, _ := c.try("get", "nodes"); return out })
}

// crash kills the control plane and starts it again.
func (c *cluster) crash(t *testing.T) {
	t.Helper()
	c.allot.kill()
	c.allot.start(t)
	c.serves(t)
}

// environment is that of a kubectl of the administrator.
func (c *cluster) environment() []string { return []string{"ALLOT_DATA_DIR=" + c.data} }

func (c *cluster) kubeconfig() string { return filepath.Join(c.data, "admin.kubeconfig") }

// try runs kubectl as the administrator.
func (c *cluster) try(args ...string) (string, error) { return c.input("", args...) }

// input runs kubectl as the administrator, with an input.
func (c *cluster) input(text string, args ...string) (string, error) {
	return try(c.environment(), text, program("allot"), append([]string{"kubectl"}, args...)...)
}

// kubectl runs kubectl as the administrator. It must succeed.
func (c *cluster) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := c.try(args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(out)
}

// apply applies a manifest.
func (c *cluster) apply(t *testing.T, manifest string) {
	t.Helper()
	if out, err := c.input(manifest, "apply", "-f", "-"); err != nil {
		t.Fatalf("apply: %v\n%s", err, out)
	}
}

// get returns a field of an object, or an empty text.
func (c *cluster) get(object, path string) string {
	out, err := c.try("get", object, "--ignore-not-found", "-o", "jsonpath="+path)
	if err != nil {
		return ""
	}
	return out
}

// running waits until a number of pods of a label run.
func (c *cluster) running(t *testing.T, label string, count int) {
	t.Helper()
	want := strings.TrimSpace(strings.Repeat("Running ", count))
	eventually(t, commandTime, "pods: "+want+";", func() string {
		phases, _ := c.try("get", "pods", "-l", label, "-o", "jsonpath={.items[*].status.phase}")
		waits, _ := c.try("get", "events", "-o", "custom-columns=:.involvedObject.name,:.message", "--no-headers")
		return "pods: " + phases + ";\n" + waits
	})
}

// write writes a file below the root.
func (c *cluster) write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(c.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// unmount unmounts what a kubelet or containerd that was killed has left mounted below dir.
func unmount(t *testing.T, dir string) {
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Error(err)
		return
	}
	lines := strings.Split(string(mounts), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if fields := strings.Fields(lines[i]); len(fields) > 1 && strings.HasPrefix(fields[1], dir+"/") {
			if out, err := try(nil, "", "umount", "-l", fields[1]); err != nil {
				t.Errorf("unmount %s: %v: %s", fields[1], err, out)
			}
		}
	}
}
