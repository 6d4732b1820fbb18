package dynamicadmission

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/tools/cache"
)

const (
	// readyTimeout is how long a request waits for the configuration that is stored when the server
	// starts.
	readyTimeout = 10 * time.Second
	pollEvery    = 10 * time.Millisecond
)

// errNotReady refuses requests that came before the configuration was known.
var errNotReady = errors.New("not yet ready to handle request")

// deferredPlugin is a plugin that is built when the first object that configures it is seen.
type deferredPlugin struct {
	name  string
	build func() (admission.Interface, error)
	// synced report whether the objects that were stored at the start have been seen.
	synced []cache.InformerSynced

	once   sync.Once
	ready  atomic.Bool // all of synced
	plugin atomic.Pointer[admission.Interface]
	failed atomic.Pointer[error]
}

// follow makes the informers' objects configure the plugin.
func (d *deferredPlugin) follow(configuration ...cache.SharedIndexInformer) error {
	for _, informer := range configuration {
		seen, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) { d.once.Do(d.start) }})
		if err != nil {
			return fmt.Errorf("%s: %w", d.name, err)
		}
		d.synced = append(d.synced, seen.HasSynced)
	}
	return nil
}

func (d *deferredPlugin) start() {
	plugin, err := d.build()
	if err != nil {
		err = fmt.Errorf("admission plugin %s: %w", d.name, err)
		utilruntime.HandleError(err)
		d.failed.Store(&err)
		return
	}
	d.plugin.Store(&plugin)
}

// get returns the plugin if it is configured and handles the operation.
func (d *deferredPlugin) get(ctx context.Context, a admission.Attributes) (admission.Interface, error) {
	if !d.ready.Load() {
		if err := d.waitReady(ctx); err != nil {
			return nil, admission.NewForbidden(a, errNotReady)
		}
	}
	if failed := d.failed.Load(); failed != nil {
		return nil, admission.NewForbidden(a, *failed)
	}
	plugin := d.plugin.Load()
	if plugin == nil || !(*plugin).Handles(a.GetOperation()) {
		return nil, nil
	}
	return *plugin, nil
}

func (d *deferredPlugin) waitReady(ctx context.Context) error {
	return wait.PollUntilContextTimeout(ctx, pollEvery, readyTimeout, true, func(context.Context) (bool, error) {
		for _, synced := range d.synced {
			if !synced() {
				return false, nil
			}
		}
		d.ready.Store(true)
		return true, nil
	})
}

// Handles implements admission.Interface.
func (d *deferredPlugin) Handles(admission.Operation) bool { return true }

// mutatingPlugin is a deferred plugin that changes objects.
type mutatingPlugin struct{ deferredPlugin }

// Admit implements admission.MutationInterface.
func (m *mutatingPlugin) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	plugin, err := m.get(ctx, a)
	if plugin == nil || err != nil {
		return err
	}
	return plugin.(admission.MutationInterface).Admit(ctx, a, o)
}

// validatingPlugin is a deferred plugin that accepts or refuses objects.
type validatingPlugin struct{ deferredPlugin }

// Validate implements admission.ValidationInterface.
func (v *validatingPlugin) Validate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	plugin, err := v.get(ctx, a)
	if plugin == nil || err != nil {
		return err
	}
	return plugin.(admission.ValidationInterface).Validate(ctx, a, o)
}
