package node

import (
	"context"
	"errors"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/controller/reconciler"
	"github.com/allot-dev/allot/internal/node/plugins"
)

// errPending means that a call of a driver has not ended yet. The pod is enqueued when it has.
var errPending = errors.New("a driver has not responded yet")

// driverDevices implements Devices with the DRA drivers that have registered. Drivers may take
// long, so they are called in the background, for one pod at a time: a driver that does not respond
// holds up no other pod.
type driverDevices struct {
	host  *plugins.Host
	queue reconciler.Queue[types.NamespacedName]

	mu      sync.Mutex
	ctx     context.Context // context of all calls
	calls   map[types.UID]*call
	running sync.WaitGroup
}

type operation string

const (
	preparing   operation = "prepare"
	unpreparing operation = "unprepare"
)

// call is the last call for a pod. Its result is returned once.
type call struct {
	op     operation
	cancel context.CancelFunc
	ended  bool
	err    error
}

func newDriverDevices(host *plugins.Host, queue reconciler.Queue[types.NamespacedName]) *driverDevices {
	return &driverDevices{host: host, queue: queue, calls: map[types.UID]*call{}}
}

func (d *driverDevices) Prepare(_ context.Context, pod *core.Pod, claims []*resource.ResourceClaim) error {
	if !d.host.Needs(pod.Spec.NodeName, claims) {
		return nil
	}
	return d.do(pod, preparing, func(ctx context.Context) error { return d.host.Prepare(ctx, pod, claims) })
}

func (d *driverDevices) Unprepare(_ context.Context, pod *core.Pod, _ []*resource.ResourceClaim) error {
	if !d.called(pod.UID) && !d.host.Uses(pod) {
		return nil
	}
	return d.do(pod, unpreparing, func(ctx context.Context) error { return d.host.Unprepare(ctx, pod) })
}

// called reports whether there is a call for the pod, running or with a result.
func (d *driverDevices) called(pod types.UID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.calls[pod] != nil
}

// do starts the operation, or returns the result of the one that was started. A different operation
// that still runs is canceled first.
func (d *driverDevices) do(pod *core.Pod, op operation, fn func(context.Context) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch c := d.calls[pod.UID]; {
	case c == nil, c.ended && c.op != op:
		d.start(pod, op, fn)
		return errPending
	case c.ended:
		delete(d.calls, pod.UID)
		return c.err
	case c.op != op:
		c.cancel()
	}
	return errPending
}

// start starts a call. The lock must be held.
func (d *driverDevices) start(pod *core.Pod, op operation, fn func(context.Context) error) {
	ctx, cancel := context.WithCancel(d.ctx)
	c := &call{op: op, cancel: cancel}
	d.calls[pod.UID] = c
	d.running.Go(func() {
		defer cancel()
		err := fn(ctx)
		d.mu.Lock()
		c.ended, c.err = true, err
		d.mu.Unlock()
		d.queue.Add(reconciler.KeyOf(pod))
	})
}

// begin must be called before the first call. Calls end when ctx ends.
func (d *driverDevices) begin(ctx context.Context) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ctx = ctx
}

// wait returns when no call runs.
func (d *driverDevices) wait() { d.running.Wait() }
