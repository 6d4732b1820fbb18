package real

import (
	"os"
	"path/filepath"
	"testing"
)

// TestHelm runs the same scenarios with Helm 3 and 4. The module of Helm 4 is that of .ci/verify.
func TestHelm(t *testing.T) {
	for name, helm := range map[string]struct{ module, program string }{
		"3": {"helm3", "helm.sh/helm/v3/cmd/helm"},
		"4": {"../../tools/helm", "helm.sh/helm/v4/cmd/helm"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(bin, "helm"+name)
			if err := os.MkdirAll(path, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := build(helm.module, filepath.Join("helm"+name, "helm"), helm.program); err != nil {
				t.Fatal(err)
			}
			(&stage{cluster: startCluster(t), path: path}).run(t, "helm/testdata")
		})
	}
}
