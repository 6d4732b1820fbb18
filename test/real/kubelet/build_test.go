package kubelet

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
)

// kubernetesVersion is the version that the kubelet reports; it is also that of go.mod.
const kubernetesVersion = "v1.37.2"

// here returns the directory of this file, and repository that of allot.
func here() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Dir(file)
}

func repository() string { return filepath.Join(here(), "..", "..", "..") }

// programs returns the folder of the programs that build has built.
func programs() string { return filepath.Join(here(), "bin") }

func program(name string) string { return filepath.Join(programs(), name) }

// source is a program to build: the package target in the module of the folder dir.
type source struct {
	dir, name, target string
	flags             []string
}

// hasSeccomp reports whether runc can be built with the system call filters that sandboxes have. They
// need the C library libseccomp. Without its headers, the test uses the runc of the machine.
func hasSeccomp() bool { return exec.Command("pkg-config", "--exists", "libseccomp").Run() == nil }

// hasRunc reports whether there is a runc, or it can be built.
func hasRunc() bool {
	_, err := exec.LookPath("runc")
	return err == nil || hasSeccomp()
}

// build builds all programs into bin, where the next run finds them and links them only after a
// change.
var build = sync.OnceValue(func() error {
	const version = "k8s.io/component-base/version"
	kubelet := fmt.Sprintf("-s -w -X %[1]s.gitVersion=%[2]s -X %[1]s.gitMajor=1 -X %[1]s.gitMinor=37", version,
		kubernetesVersion)
	const containerd = "github.com/containerd/containerd/v2/cmd/"
	const network = "github.com/containernetworking/plugins/plugins/"
	list := []source{
		{repository(), "allot", "./cmd/allot", nil},
		{repository(), "driver", "./examples/driver", nil},
		{here(), "app", "./app", nil},
		{here(), "kubelet", "k8s.io/kubernetes/cmd/kubelet", []string{"-ldflags", kubelet}},
		{here(), "containerd", containerd + "containerd", []string{"-tags", "no_btrfs,no_zfs"}},
		{here(), "containerd-shim-runc-v2", containerd + "containerd-shim-runc-v2", nil},
		{here(), "ctr", containerd + "ctr", nil},
		{here(), "ptp", network + "main/ptp", nil},
		{here(), "loopback", network + "main/loopback", nil},
		{here(), "host-local", network + "ipam/host-local", nil},
	}
	if hasSeccomp() {
		list = append(list, source{here(), "runc", "github.com/opencontainers/runc", []string{"-tags", "seccomp"}})
	}
	for _, b := range list {
		args := append(append([]string{"build", "-o", program(b.name)}, b.flags...), b.target)
		cmd := exec.CommandContext(context.Background(), "go", args...)
		cmd.Dir, cmd.Env = b.dir, os.Environ()
		if b.name == "app" || b.name == "kubelet" { // a container has no files of a distribution
			cmd.Env = append(cmd.Env, "CGO_ENABLED=0")
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", b.name, err, out)
		}
	}
	return nil
})
