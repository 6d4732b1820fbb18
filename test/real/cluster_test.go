package real

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// cluster is a control plane of allot up, with the fleet of testdata/fleet.yaml.
type cluster struct {
	process

	dir string
}

func startCluster(t *testing.T) *cluster {
	t.Helper()
	fleet, err := filepath.Abs("testdata/fleet.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{dir: t.TempDir()}
	data := filepath.Join(c.dir, "data")
	c.process = process{
		name: "allot",
		args: []string{"up", "--data-dir", data, "--fleet", fleet},
		env:  []string{"NO_COLOR=1"},
		log:  filepath.Join(c.dir, "up.log"),
		ready: func() error {
			_, err := c.kubectl("", "get", "--raw", "/readyz")
			return err
		},
	}
	t.Cleanup(func() { c.stop(t) })
	if err := c.start(); err != nil {
		t.Fatalf("%v\n%s", err, c.tail(40))
	}
	return c
}

// kubeconfig returns the path of the administrator's kubeconfig.
func (c *cluster) kubeconfig() string { return filepath.Join(c.dir, "data", "admin.kubeconfig") }

// kubectl runs kubectl as the administrator and returns its output.
func (c *cluster) kubectl(stdin string, args ...string) (string, error) {
	cmd := exec.Command(filepath.Join(bin, "kubectl"), append([]string{"--kubeconfig", c.kubeconfig()}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	var out, warnings bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &warnings
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, warnings.String())
	}
	return strings.TrimSpace(out.String()), nil
}

// identity writes a kubeconfig to file, with a token of a ServiceAccount.
func (c *cluster) identity(namespace, account, file string) error {
	token, err := c.kubectl("", "create", "token", account, "--namespace", namespace, "--duration", "24h")
	if err != nil {
		return err
	}
	admin, err := os.ReadFile(c.kubeconfig())
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, admin, 0o600); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"config", "set-credentials", account, "--token", token},
		{"config", "set-context", "--current", "--user", account},
		{"config", "unset", "users." + "admin"},
	} {
		cmd := exec.Command(filepath.Join(bin, "kubectl"), append([]string{"--kubeconfig", file}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("kubectl %s: %w: %s", args[1], err, out)
		}
	}
	return nil
}
