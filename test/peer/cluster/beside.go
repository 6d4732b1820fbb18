package cluster

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"
)

// StartBeside starts allot's API server on the etcd of a Kubernetes control plane, and returns a
// client configuration of an administrator.
func (k *Kubernetes) StartBeside(ctx context.Context) (*Process, *rest.Config, error) {
	binary, err := AllotBinary()
	if err != nil {
		return nil, nil, err
	}
	dir := filepath.Join(k.Dir, "beside")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, err
	}
	kubeconfig := filepath.Join(dir, "admin.kubeconfig")
	if err := os.RemoveAll(kubeconfig); err != nil {
		return nil, nil, err
	}
	p, err := StartProcess(k.Dir, "allot-apiserver", binary, "apiserver", "--data-dir", dir, "--etcd-servers",
		k.etcdURL)
	if err != nil {
		return nil, nil, err
	}
	cfg, err := AwaitReady(ctx, p, kubeconfig)
	if err != nil {
		return nil, nil, errors.Join(err, p.Kill())
	}
	cfg.QPS = -1
	return p, cfg, nil
}
