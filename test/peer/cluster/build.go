package cluster

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
)

// kubernetesVersion is the version that the servers report; it is also that of go.mod.
const kubernetesVersion = "v1.37.2"

// KubeBinary builds the Kubernetes components once, and returns the path of the binary that
// contains them.
var KubeBinary = sync.OnceValues(func() (string, error) {
	const version = "k8s.io/component-base/version"
	flags := fmt.Sprintf("-X %[1]s.gitVersion=%[2]s -X %[1]s.gitMajor=1 -X %[1]s.gitMinor=37 -s -w", version,
		kubernetesVersion)
	return build("kube", here(), "./kube", "-ldflags", flags)
})

// AllotBinary builds the product in its own module, and returns the path of the binary.
var AllotBinary = sync.OnceValues(func() (string, error) {
	return build("allot", filepath.Join(here(), "..", "..", ".."), "./cmd/allot")
})

// build leaves the binary in bin, where the next run finds it and links it only after a change.
func build(name, dir, target string, flags ...string) (string, error) {
	path := filepath.Join(here(), "bin", name)
	args := append([]string{"build", "-o", path}, flags...)
	cmd := exec.CommandContext(context.Background(), "go", append(args, target)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", name, err, out)
	}
	return path, nil
}

// here returns the directory of this file.
func here() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Dir(file)
}
