package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/allot-dev/allot/internal/etcd"
	"github.com/allot-dev/allot/internal/pki"
)

// startPatience limits the time until a control plane is ready, on a busy machine.
const startPatience = 3 * time.Minute

// Options configures a control plane.
type Options struct {
	// Dir has all its files; using a directory again continues the same cluster.
	Dir string
	// Groups enables the gates and versions that PodGroups and their claims require. Without it,
	// Kubernetes has its default configuration.
	Groups bool
	// Versions are additional API versions to serve, such as "resource.k8s.io/v1beta1".
	Versions []string
	// ServerOnly omits the controller manager.
	ServerOnly bool
	// Measured has every component in a process of its own: etcd too, which syncs to disk, and the
	// scheduler. Clients send as many requests as they can, and the controllers are those that pods,
	// PodGroups and claims need.
	Measured bool
}

// Kubernetes is an API server and a controller manager of Kubernetes with an etcd in this process,
// or with a scheduler and an etcd in processes of their own.
type Kubernetes struct {
	// Config is the client configuration of an administrator; Kubeconfig is a file with the same
	// content.
	Config     *rest.Config
	Kubeconfig string
	// Etcd has its objects, unless that is a process of its own.
	Etcd *etcd.Server
	// Dir has its files, and the logs of its processes.
	Dir string

	opts      Options
	authority *pki.Authority
	etcdURL   string
	etcd      *Process
	server    *Process
	manager   *Process
	scheduler *Process
}

// gates are the feature gates that PodGroups and their claims require; in 1.37 they are off by
// default.
const gates = "GenericWorkload=true,DRAWorkloadResourceClaims=true,WorkloadWithJob=true"

// groupVersions are the API versions that have PodGroups.
var groupVersions = []string{"scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1alpha3"}

// StartKubernetes starts a control plane, and returns when it is ready.
func StartKubernetes(ctx context.Context, opts Options) (_ *Kubernetes, err error) {
	binary, err := KubeBinary()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	k := &Kubernetes{opts: opts, Dir: opts.Dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, k.Stop())
		}
	}()
	if k.authority, err = pki.Open(filepath.Join(opts.Dir, "pki"), time.Now); err != nil {
		return nil, err
	}
	if err := k.startEtcd(ctx, binary); err != nil {
		return nil, err
	}
	if err := k.startServer(ctx, binary); err != nil {
		return nil, err
	}
	if opts.ServerOnly {
		return k, nil
	}
	if err := k.startManager(ctx, binary); err != nil {
		return nil, err
	}
	if opts.Measured {
		return k, k.startScheduler(ctx, binary)
	}
	return k, nil
}

func (k *Kubernetes) startEtcd(ctx context.Context, binary string) (err error) {
	dir := filepath.Join(k.opts.Dir, "etcd")
	if k.opts.Measured {
		return k.startEtcdProcess(ctx, binary, dir)
	}
	if k.Etcd, err = etcd.Start(ctx, etcd.Options{Dir: dir, UnsafeNoFsync: true}); err != nil {
		return err
	}
	k.etcdURL = k.Etcd.Endpoint()
	return nil
}

func (k *Kubernetes) startServer(ctx context.Context, binary string) error {
	port, err := freePort(ctx)
	if err != nil {
		return err
	}
	if _, err := k.authority.Serving("server", []string{"127.0.0.1", "localhost"}); err != nil {
		return err
	}
	if _, err := k.authority.Client("service-accounts", "service-accounts"); err != nil {
		return err
	}
	args := []string{
		"kube-apiserver",
		"--etcd-servers=" + k.etcdURL,
		"--bind-address=127.0.0.1", "--secure-port=" + strconv.Itoa(port),
		// There are no Services for the API server.
		"--advertise-address=192.0.2.1", "--endpoint-reconciler-type=none", "--service-cluster-ip-range=10.96.0.0/16",
		"--client-ca-file=" + k.file(
			"ca.crt",
		), "--tls-cert-file=" + k.file("server.crt"), "--tls-private-key-file=" + k.file("server.key"),
		"--service-account-issuer=https://kubernetes.invalid",
		"--service-account-key-file=" + k.file(
			"service-accounts.crt",
		), "--service-account-signing-key-file=" + k.file("service-accounts.key"),
		"--authorization-mode=Node,RBAC",
	}
	args = append(args, k.features()...)
	if k.opts.Measured {
		args = append(args, measuredAdmission)
	}
	if versions := k.versions(); len(versions) > 0 {
		args = append(args, "--runtime-config="+strings.Join(versions, "=true,")+"=true")
	}
	if k.server, err = StartProcess(k.Dir, "kube-apiserver", binary, args...); err != nil {
		return err
	}
	url := fmt.Sprintf("https://127.0.0.1:%d", port)
	if k.Config, k.Kubeconfig, err = k.ClientFor(url, "admin", "system:masters"); err != nil {
		return err
	}
	return until(ctx, k.server, func() error { return isReady(ctx, k.Config) })
}

func (k *Kubernetes) features() []string {
	if k.opts.Groups {
		return []string{"--feature-gates=" + gates}
	}
	return nil
}

func (k *Kubernetes) versions() []string {
	if k.opts.Groups {
		return append(k.opts.Versions, groupVersions...)
	}
	return k.opts.Versions
}

func (k *Kubernetes) startManager(ctx context.Context, binary string) (err error) {
	_, kubeconfig, err := k.ClientFor(k.Config.Host, "system:kube-controller-manager")
	if err != nil {
		return err
	}
	args := append([]string{
		"kube-controller-manager",
		"--kubeconfig=" + kubeconfig, "--leader-elect=false", "--secure-port=0",
		"--service-account-private-key-file=" + k.file("service-accounts.key"), "--root-ca-file=" + k.file("ca.crt"),
		"--use-service-account-credentials",
		// Simulated nodes renew no leases.
		"--node-monitor-grace-period=24h",
	}, k.features()...)
	if k.opts.Measured {
		args = append(args, measuredControllers, measuredQPS, measuredBurst)
	}
	if k.manager, err = StartProcess(k.Dir, "kube-controller-manager", binary, args...); err != nil {
		return err
	}
	return k.waitManager(ctx)
}

// waitManager waits for the first result of the controller manager: the service account without
// which no pod is admitted.
func (k *Kubernetes) waitManager(ctx context.Context) error {
	clients, err := kubernetes.NewForConfig(k.Config)
	if err != nil {
		return err
	}
	return until(ctx, k.manager, func() error { return hasDefaultAccount(ctx, clients) })
}

// ClientFor creates a client certificate for a user, and a kubeconfig in Dir.
func (k *Kubernetes) ClientFor(url, user string, groups ...string) (*rest.Config, string, error) {
	name := "client-" + strings.ReplaceAll(user, ":", "-")
	pair, err := k.authority.Client(name, user, groups...)
	if err != nil {
		return nil, "", err
	}
	cfg := clientcmdapi.NewConfig()
	cfg.Clusters["peer"] = &clientcmdapi.Cluster{Server: url, CertificateAuthorityData: k.authority.CertPEM()}
	cfg.AuthInfos["peer"] = &clientcmdapi.AuthInfo{ClientCertificateData: pair.Cert, ClientKeyData: pair.Key}
	cfg.Contexts["peer"] = &clientcmdapi.Context{Cluster: "peer", AuthInfo: "peer"}
	cfg.CurrentContext = "peer"
	path := filepath.Join(k.Dir, name+".kubeconfig")
	if err := clientcmd.WriteToFile(*cfg, path); err != nil {
		return nil, "", err
	}
	client, err := clientcmd.NewDefaultClientConfig(*cfg, nil).ClientConfig()
	if err != nil {
		return nil, "", err
	}
	client.QPS = -1
	return client, path, nil
}

// Stop stops the processes, then etcd. It may be called for a control plane that did not start
// completely.
func (k *Kubernetes) Stop() error {
	var errs []error
	for _, p := range slices.Backward(k.Processes()) {
		errs = append(errs, p.Stop())
	}
	if k.Etcd != nil {
		errs = append(errs, k.Etcd.Close())
	}
	return errors.Join(errs...)
}

func (k *Kubernetes) file(name string) string { return filepath.Join(k.Dir, "pki", name) }

// Tail returns the end of the logs of the processes.
func (k *Kubernetes) Tail() string {
	var out []string
	for _, p := range k.Processes() {
		out = append(out, p.Tail())
	}
	return strings.Join(out, "\n")
}

// Memory returns the peak memory of the processes.
func (k *Kubernetes) Memory() string {
	out := fmt.Sprintf("kube-apiserver %d MiB", k.server.MostMemory()>>20)
	if k.manager != nil {
		out += fmt.Sprintf(", kube-controller-manager %d MiB", k.manager.MostMemory()>>20)
	}
	return out
}

// until retries try until it returns nil, the process ends, or ctx ends.
func until(ctx context.Context, p *Process, try func() error) error {
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-p.Ended():
			return fmt.Errorf("%s ended: %w\n%s", p.Name, p.err, p.Tail())
		case <-ctx.Done():
			return fmt.Errorf("%s: %w (last: %w)\n%s", p.Name, ctx.Err(), err, p.Tail())
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// freePort returns a port that is currently not in use: kube-apiserver does not choose one itself.
func freePort(ctx context.Context) (int, error) {
	var l net.ListenConfig
	listener, err := l.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}
