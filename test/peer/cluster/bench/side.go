package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

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

// allotPatience limits the time until allot is ready, on a busy machine.
const allotPatience = time.Minute

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
	config, err := readyConfig(ctx, filepath.Join(data, "admin.kubeconfig"))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w\n%s", err, p.Tail()), p.Kill())
	}
	return &controlPlane{config: config, processes: []*cluster.Process{p}, stop: p.Stop}, nil
}

// readyConfig returns the client configuration of a kubeconfig when the server that it names is ready.
func readyConfig(ctx context.Context, kubeconfig string) (*rest.Config, error) {
	ctx, cancel := context.WithTimeout(ctx, allotPatience)
	defer cancel()
	for {
		config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
		if err == nil {
			err = ready(ctx, config)
		}
		if err == nil {
			return config, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("allot is not ready: %w", err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func ready(ctx context.Context, config *rest.Config) error {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	return client.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
}
