package plugins

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"google.golang.org/grpc"
	"k8s.io/klog/v2"
	registrationv1 "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

// Times of a kubelet.
const (
	registrationTimeout = 10 * time.Second
	firstRegisterAgain  = 500 * time.Millisecond
	lastRegisterAgain   = 2 * time.Minute
)

// registrar registers the plugins behind the sockets of one node.
type registrar struct {
	// register adds a plugin. The returned function removes it.
	register func(info *registrationv1.PluginInfo) (remove func(), err error)

	mu      sync.Mutex
	sockets map[string]*registration
	running sync.WaitGroup
}

// registration is a socket, with the goroutine that registers the plugin behind it.
type registration struct {
	info   fs.FileInfo
	cancel context.CancelFunc
	done   chan struct{} // closed when the plugin is removed
}

// sync starts and ends registrations, so that there is one for each of the sockets. A registration
// for a replaced socket begins when the earlier one has ended.
func (r *registrar) sync(ctx context.Context, sockets map[string]fs.FileInfo) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sockets == nil {
		r.sockets = map[string]*registration{}
	}
	ended := map[string]*registration{}
	for path, reg := range r.sockets {
		if info, ok := sockets[path]; !ok || !sameSocket(info, reg.info) {
			reg.cancel()
			delete(r.sockets, path)
			ended[path] = reg
		}
	}
	for path, info := range sockets {
		if r.sockets[path] != nil {
			continue
		}
		ctx, cancel := context.WithCancel(ctx)
		reg := &registration{info: info, cancel: cancel, done: make(chan struct{})}
		r.sockets[path] = reg
		before := ended[path]
		r.running.Go(func() {
			defer close(reg.done)
			if before != nil {
				<-before.done
			}
			r.keep(ctx, path)
		})
	}
}

// keep registers the plugin, retrying until it succeeds, and removes it when ctx ends.
func (r *registrar) keep(ctx context.Context, path string) {
	logger := klog.FromContext(ctx)
	for again := firstRegisterAgain; ; again = min(2*again, lastRegisterAgain) {
		remove, err := r.attempt(ctx, path)
		if err == nil {
			<-ctx.Done()
			remove()
			return
		}
		if ctx.Err() != nil {
			return
		}
		logger.Error(err, "register plugin", "socket", path)
		select {
		case <-ctx.Done():
			return
		case <-time.After(again):
		}
	}
}

// attempt asks the plugin what it is, adds it, and notifies it of the outcome.
func (r *registrar) attempt(ctx context.Context, path string) (remove func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, registrationTimeout)
	defer cancel()
	conn, err := dial(path)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	defer conn.Close()
	client := registrationv1.NewRegistrationClient(conn)
	info, err := client.GetInfo(ctx, &registrationv1.InfoRequest{}, grpc.WaitForReady(true))
	if err != nil {
		return nil, fmt.Errorf("GetInfo: %w", err)
	}
	if info.Endpoint == "" {
		info.Endpoint = path
	}
	remove, refused := r.register(info)
	if refused != nil {
		_, err := client.NotifyRegistrationStatus(ctx, &registrationv1.RegistrationStatus{Error: refused.Error()})
		return nil, errors.Join(refused, err)
	}
	if _, err := client.NotifyRegistrationStatus(ctx,
		&registrationv1.RegistrationStatus{PluginRegistered: true}); err != nil {
		remove()
		return nil, fmt.Errorf("NotifyRegistrationStatus: %w", err)
	}
	return remove, nil
}
