package cluster

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
)

// kubernetesVersion is what the servers say they are; go.mod requires the same.
const kubernetesVersion = "v1.37.2"

// KubeBinary builds Kubernetes' parts, once, and answers the path of the one binary that they are in.
var KubeBinary = sync.OnceValues(func() (string, error) {
	const version = "k8s.io/component-base/version"
	flags := fmt.Sprintf("-X %[1]s.gitVersion=%[2]s -X %[1]s.gitMajor=1 -X %[1]s.gitMinor=37 -s -w", version, kubernetesVersion)
	return build("kube", here(), "./kube", "-ldflags", flags)
})

// AllotBinary builds the product as everybody does, in its own module, and answers the binary's path.
var AllotBinary = sync.OnceValues(func() (string, error) {
	return build("allot", filepath.Join(here(), "..", "..", ".."), "./cmd/allot")
})

// build leaves the binary in bin, where the next run finds it and links it only if something has changed.
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

// here is the folder of this file.
func here() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Dir(file)
}
