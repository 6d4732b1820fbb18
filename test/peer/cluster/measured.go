package cluster

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
)

const (
	// measuredControllers are the controllers without which pods, PodGroups and claims do not end
	// as on a complete control plane. The others would only add to what is measured.
	measuredControllers = "--controllers=serviceaccount-controller,root-ca-certificate-publisher-controller," +
		"resourceclaim-controller,podgroup-protection-controller,device-taint-eviction-controller," +
		"namespace-controller,garbage-collector-controller"
	// measuredAdmission keeps nodes from a taint that no controller would remove, as upstream's own
	// benchmarks do.
	measuredAdmission = "--disable-admission-plugins=TaintNodesByCondition"
	// measuredQPS and measuredBurst are the rates that upstream's own benchmarks give to clients.
	measuredQPS   = "--kube-api-qps=5000"
	measuredBurst = "--kube-api-burst=5000"
	// etcdQuota is the size of the database that allot's own etcd has too.
	etcdQuota = "--quota-backend-bytes=8589934592"
)

// startEtcdProcess starts etcd as a process of its own, which syncs to disk.
func (k *Kubernetes) startEtcdProcess(ctx context.Context, binary, dir string) error {
	port, err := freePort(ctx)
	if err != nil {
		return err
	}
	peer, err := freePort(ctx)
	if err != nil {
		return err
	}
	k.etcdURL = fmt.Sprintf("http://127.0.0.1:%d", port)
	peerURL := fmt.Sprintf("http://127.0.0.1:%d", peer)
	if k.etcd, err = StartProcess(
		k.Dir, "etcd", binary, "etcd", "--data-dir="+dir, "--log-level=warn", etcdQuota,
		"--listen-client-urls="+k.etcdURL, "--advertise-client-urls="+k.etcdURL,
		"--listen-peer-urls="+peerURL, "--initial-advertise-peer-urls="+peerURL, "--initial-cluster=default="+peerURL,
	); err != nil {
		return err
	}
	return until(ctx, k.etcd, func() error { return responds(ctx, http.DefaultClient, k.etcdURL+"/health") })
}

// startScheduler starts kube-scheduler. It has no leader election, as it is alone.
func (k *Kubernetes) startScheduler(ctx context.Context, binary string) error {
	_, kubeconfig, err := k.ClientFor(k.Config.Host, "system:kube-scheduler")
	if err != nil {
		return err
	}
	config := filepath.Join(k.Dir, "scheduler.yaml")
	text := "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n" +
		"leaderElection: {leaderElect: false}\n" +
		fmt.Sprintf("clientConnection: {kubeconfig: %q, qps: 5000, burst: 5000}\n", kubeconfig)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return err
	}
	port, err := freePort(ctx)
	if err != nil {
		return err
	}
	args := append([]string{
		"kube-scheduler", "--config=" + config, "--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port),
	}, k.features()...)
	if k.scheduler, err = StartProcess(k.Dir, "kube-scheduler", binary, args...); err != nil {
		return err
	}
	return until(ctx, k.scheduler, func() error { return accepts(ctx, port) })
}

// Processes returns the components that run as processes, in the order in which they were started.
func (k *Kubernetes) Processes() []*Process {
	var started []*Process
	for _, p := range []*Process{k.etcd, k.server, k.manager, k.scheduler} {
		if p != nil {
			started = append(started, p)
		}
	}
	return started
}
