package cluster

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
)

// Own is allot's API server and controller manager, as separate processes.
type Own struct {
	// Kubeconfig is the administrator's kubeconfig.
	Kubeconfig string

	parts []*Process
}

// StartOwn starts allot's control plane without a scheduler and nodes, and returns when it is
// ready.
func StartOwn(ctx context.Context, dir string) (_ *Own, err error) {
	binary, err := AllotBinary()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	o := &Own{Kubeconfig: filepath.Join(dir, "data", "admin.kubeconfig")}
	defer func() {
		if err != nil {
			err = errors.Join(err, o.Stop())
		}
	}()
	server, err := StartProcess(dir, "apiserver", binary, "apiserver", "--data-dir", filepath.Join(dir, "data"))
	if err != nil {
		return nil, err
	}
	o.parts = append(o.parts, server)
	if _, err := AwaitReady(ctx, server, o.Kubeconfig); err != nil {
		return nil, err
	}
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	health := "127.0.0.1:" + strconv.Itoa(port)
	manager, err := StartProcess(dir, "controller-manager", binary, "controller-manager",
		"--kubeconfig", filepath.Join(dir, "data", "controller-manager.kubeconfig"), "--health-listen", health)
	if err != nil {
		return nil, err
	}
	o.parts = append(o.parts, manager)
	return o, until(ctx, manager, func() error { return responds(ctx, http.DefaultClient, "http://"+health+"/readyz?verbose") })
}

// Stop stops the processes, the last one first.
func (o *Own) Stop() error {
	var errs []error
	for i := len(o.parts) - 1; i >= 0; i-- {
		errs = append(errs, o.parts[i].Stop())
	}
	return errors.Join(errs...)
}

// Tail returns the end of the logs of the processes.
func (o *Own) Tail() string {
	out := ""
	for _, p := range o.parts {
		out += p.Tail() + "\n"
	}
	return out
}
