package real

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// product is a controller of another project, as its module ships it.
type product struct {
	// name is the folder of the module that pins the version, the prefix of the manifests' names, and
	// before "-system" the namespace.
	name string
	// module and program are the paths of its Go module and of its main package.
	module, program string
	// certificates is the folder where the program expects the certificate of its webhooks, which a
	// kubelet would mount. Without a leading slash it is below the folder of the test.
	certificates string
	// config is the file of the module with its configuration; without one it is that of the manifests.
	config string
	// gates are added to the feature gates of its configuration.
	gates object
}

func (p product) namespace() string { return p.name + "-system" }

// controller is a running product.
type controller struct {
	process

	product product
	cluster *cluster
	// source is the folder of the product's module, and dir that of its files here.
	source, dir string
	ports       ports
	// starts is how often the program was started.
	starts int
}

// ports are those of a controller, on the loopback interface.
type ports struct{ webhooks, metrics, health int }

// startController builds, installs and starts a product.
func startController(t *testing.T, c *cluster, p product) *controller {
	t.Helper()
	if err := build(p.name, p.name, p.program); err != nil {
		t.Fatal(err)
	}
	source, err := sourceOf(p)
	if err != nil {
		t.Fatal(err)
	}
	ctl := &controller{product: p, cluster: c, source: source, dir: t.TempDir(), ports: freePorts(t)}
	if !filepath.IsAbs(p.certificates) {
		ctl.product.certificates = filepath.Join(ctl.dir, p.certificates)
	}
	t.Cleanup(func() { os.RemoveAll(ctl.product.certificates) })
	config := filepath.Join(ctl.dir, "config.yaml")
	kubeconfig := filepath.Join(ctl.dir, "kubeconfig")
	ctl.process = process{
		name:  p.name,
		args:  []string{"--config", config},
		env:   []string{"KUBECONFIG=" + kubeconfig},
		log:   filepath.Join(ctl.dir, p.name+".log"),
		ready: ctl.serves,
	}
	if err := ctl.install(config, kubeconfig); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ctl.stop(t) })
	if err := ctl.start(); err != nil {
		t.Fatalf("%v\n%s", err, ctl.tail(60))
	}
	return ctl
}

// install applies the manifests of the module, and writes the configuration and the kubeconfig.
func (c *controller) install(config, kubeconfig string) error {
	built, err := c.cluster.kubectl("", "kustomize", filepath.Join(c.source, "config", "default"))
	if err != nil {
		return err
	}
	objects, err := parse(built)
	if err != nil {
		return err
	}
	shipped, err := c.shipped(objects)
	if err != nil {
		return err
	}
	manifests, err := outside(objects, c.product.name+"-webhook-service", c.ports.webhooks)
	if err != nil {
		return err
	}
	if _, err := c.cluster.kubectl(manifests, "apply", "--server-side", "-f", "-"); err != nil {
		return err
	}
	if err := c.configure(shipped, config); err != nil {
		return err
	}
	account := c.product.name + "-controller-manager"
	return c.cluster.identity(c.product.namespace(), account, kubeconfig)
}

// shipped returns the configuration that the module ships.
func (c *controller) shipped(manifests []object) (object, error) {
	if c.product.config == "" {
		return configuration(manifests)
	}
	text, err := os.ReadFile(filepath.Join(c.source, c.product.config))
	if err != nil {
		return nil, err
	}
	all, err := parse(string(text))
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// configure writes the configuration of the manifests to file, with the addresses of this controller,
// and with what it otherwise knows from the file system of its pod.
func (c *controller) configure(shipped object, file string) error {
	shipped.put(object{
		"host": "127.0.0.1", "port": c.ports.webhooks, "certDir": c.product.certificates,
	}, "webhook")
	shipped.put(object{"bindAddress": loopback(c.ports.metrics)}, "metrics")
	shipped.put(object{"healthProbeBindAddress": loopback(c.ports.health)}, "health")
	shipped.put(object{"resourceNamespace": c.product.namespace()}, "leaderElection")
	if c.product.gates != nil {
		shipped.put(c.product.gates, "featureGates")
	}
	data, err := json.Marshal(shipped)
	if err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o600)
}

// sourceOf returns the folder of the product's module.
func sourceOf(p product) (string, error) {
	cmd := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", p.module)
	cmd.Dir = p.name
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("module %s: %w", p.module, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// start starts the program. Its certificate, which the program itself writes into a Secret, is
// mounted as soon as it is there.
func (c *controller) start() error {
	c.starts++
	mounted, done := make(chan error, 1), make(chan struct{})
	go func() { mounted <- c.mount(done) }()
	err := c.process.start()
	close(done)
	return errors.Join(err, <-mounted)
}

// mount writes the Secret with the certificate to the folder where the program expects it.
func (c *controller) mount(done <-chan struct{}) error {
	for {
		out, err := c.cluster.kubectl("", "get", "secret", c.product.name+"-webhook-server-cert",
			"--namespace", c.product.namespace(), "--output", "json")
		var secret struct{ Data map[string][]byte }
		if err == nil {
			err = json.Unmarshal([]byte(out), &secret)
		}
		if err == nil && len(secret.Data["tls.crt"]) > 0 {
			return c.writeAll(secret.Data)
		}
		select {
		case <-done:
			return err
		case <-time.After(300 * time.Millisecond):
		}
	}
}

func (c *controller) writeAll(files map[string][]byte) error {
	if err := os.MkdirAll(c.product.certificates, 0o700); err != nil {
		return err
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(c.product.certificates, name), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// serves returns an error unless the program is ready, its webhooks listen, which they do when the
// server knows their certificate, and it holds the Lease.
func (c *controller) serves() error {
	client := http.Client{Timeout: time.Second}
	answer, err := client.Get(fmt.Sprintf("http://%s/readyz", loopback(c.ports.health)))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("readyz: %s", answer.Status)
	}
	conn, err := net.DialTimeout("tcp", loopback(c.ports.webhooks), time.Second)
	if err != nil {
		return err
	}
	_ = conn.Close()
	log, err := os.ReadFile(c.log)
	if err != nil {
		return err
	}
	// Releases of client-go write the first letter differently.
	if bytes.Count(log, []byte("uccessfully acquired lease")) < c.starts {
		return errors.New("it does not hold the Lease")
	}
	return nil
}

func loopback(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

func freePorts(t *testing.T) ports {
	t.Helper()
	var out [3]int
	for i := range out {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		out[i] = l.Addr().(*net.TCPAddr).Port
	}
	return ports{webhooks: out[0], metrics: out[1], health: out[2]}
}

// restart kills the program and starts it again.
func (c *controller) restart() error {
	if err := c.kill(); err != nil {
		return err
	}
	return c.start()
}
