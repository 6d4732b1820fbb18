package main

import (
	"context"
	"errors"
	"path/filepath"

	"k8s.io/client-go/rest"

	"github.com/allot-dev/allot/test/peer/cluster"
)

// side is one of the two that are compared.
type side struct {
	name  string
	start func(ctx context.Context, dir string) (*controlPlane, error)
}

var starts = map[string]func(ctx context.Context, dir string) (*controlPlane, error){
	"allot": startAllot, "kubernetes": startKubernetes,
}

// controlPlane is a control plane that runs, with nothing in it.
type controlPlane struct {
	config    *rest.Config
	processes []*cluster.Process
	stop      func() error
}

func startKubernetes(ctx context.Context, dir string) (*controlPlane, error) {
	k, err := cluster.StartKubernetes(ctx, cluster.Options{Dir: dir, Groups: true, Measured: true})
	if err != nil {
		return nil, err
	}
	return &controlPlane{config: k.Config, processes: k.Processes(), stop: k.Stop}, nil
}

func startAllot(ctx context.Context, dir string) (*controlPlane, error) {
	binary, err := cluster.AllotBinary()
	if err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "data")
	p, err := cluster.StartProcess(dir, "allot", binary, "up", "--nodes", "0", "--data-dir", data, "--listen",
		"127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	config, err := cluster.AwaitReady(ctx, p, filepath.Join(data, "admin.kubeconfig"))
	if err != nil {
		return nil, errors.Join(err, p.Kill())
	}
	return &controlPlane{config: config, processes: []*cluster.Process{p}, stop: p.Stop}, nil
}
