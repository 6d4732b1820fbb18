package plugins

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	registrationv1 "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	resource "github.com/allot-dev/allot/api/resource/v1"
)

// node is the side of the kubelet for one node.
type node struct {
	name      string
	folder    folder
	opts      Options
	registrar *registrar
	claims    keyLocks // held during calls, by the UID of a claim

	mu      sync.Mutex // held briefly
	drivers drivers
	records *records
	wipes   map[string]*time.Timer // by driver, while it has no connected plugin
	stopped bool
}

func newNode(name string, f folder, opts Options) (*node, error) {
	if example := filepath.Join(f.registry(), "d-reg.sock"); len(example) > longestSocket {
		return nil, fmt.Errorf("folder for plugins: a socket such as %s has %d characters, and there may be %d at most",
			example, len(example), longestSocket)
	}
	if err := f.create(); err != nil {
		return nil, err
	}
	r, err := readRecords(f.recordFile())
	if err != nil {
		return nil, err
	}
	n := &node{name: name, folder: f, opts: opts, drivers: drivers{}, records: r, wipes: map[string]*time.Timer{}}
	n.registrar = &registrar{register: n.register}
	return n, nil
}

// register adds a plugin, unless it is not for this protocol.
func (n *node) register(info *registrationv1.PluginInfo) (remove func(), err error) {
	if info.Type != registrationv1.DRAPlugin {
		return nil, fmt.Errorf("plugins of type %q are not supported, only %q", info.Type, registrationv1.DRAPlugin)
	}
	if info.Name == "" {
		return nil, errors.New("DRA driver name is empty")
	}
	service, health, err := negotiate(info.SupportedVersions)
	if err != nil {
		return nil, fmt.Errorf("invalid supported gRPC versions of DRA driver plugin %s at endpoint %s: %w", info.Name,
			info.Endpoint, err)
	}
	p := &plugin{driver: info.Name, endpoint: info.Endpoint, service: service, health: health, timeout: n.opts.CallTimeout}
	p.changed = func() { n.connectionChanged(p.driver) }
	if err := n.add(p); err != nil {
		return nil, err
	}
	n.opts.Registered(n.name, p.driver)
	ctx, cancel := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	if p.health != "" {
		watching.Go(func() { n.followHealth(ctx, p) })
	}
	return func() {
		cancel()
		watching.Wait()
		n.remove(p)
	}, nil
}

// add records that the driver is real on the node, and connects to the plugin.
func (n *node) add(p *plugin) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.drivers.add(p); err != nil {
		return err
	}
	err := n.take(p.driver)
	if err == nil {
		err = p.connect()
	}
	if err != nil {
		n.drivers.remove(p)
		return err
	}
	n.scheduleWipe(p.driver)
	return nil
}

func (n *node) take(driver string) error {
	if n.records.drivers[driver] {
		return nil
	}
	n.records.drivers[driver] = true
	return n.records.save()
}

// remove closes the connection to a plugin, which ends its calls.
func (n *node) remove(p *plugin) {
	n.mu.Lock()
	n.drivers.remove(p)
	n.scheduleWipe(p.driver)
	n.mu.Unlock()
	_ = p.conn.Close() // not under the lock: gRPC calls HandleConn
	n.opts.Changed(n.name)
}

func (n *node) connectionChanged(driver string) {
	n.mu.Lock()
	n.scheduleWipe(driver)
	usable := n.drivers.usable(driver)
	n.mu.Unlock()
	if usable {
		n.opts.Changed(n.name)
	}
}

// scheduleWipe starts or stops the time after which the driver counts as unavailable. The lock must
// be held.
func (n *node) scheduleWipe(driver string) {
	timer := n.wipes[driver]
	switch usable := n.drivers.usable(driver); {
	case n.stopped:
	case usable && timer != nil:
		timer.Stop()
		delete(n.wipes, driver)
	case !usable && timer == nil:
		n.wipes[driver] = time.AfterFunc(n.opts.WipeDelay, func() { n.wipe(driver) })
	}
}

func (n *node) wipe(driver string) {
	n.mu.Lock()
	wipe := !n.stopped && !n.drivers.usable(driver)
	delete(n.wipes, driver)
	n.mu.Unlock()
	if wipe {
		n.opts.Unavailable(n.name, driver)
	}
}

// stop ends what runs in the background. All plugins have been removed.
func (n *node) stop() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.stopped = true
	for _, timer := range n.wipes {
		timer.Stop()
	}
}

func (n *node) takenDrivers() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Sorted(maps.Keys(n.records.drivers))
}

// uses reports whether the pod uses a claim that is recorded.
func (n *node) uses(pod types.UID) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.records.usedBy(pod)) > 0
}

// real returns those of the claims that have a device of a driver that is not simulated.
func (n *node) real(claims []*resource.ResourceClaim) []*resource.ResourceClaim {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(claims),
		func(claim *resource.ResourceClaim) bool { return len(n.realDrivers(claim)) == 0 })
}

// realDrivers returns the drivers of the claim's devices that are not simulated, in order. The lock
// must be held.
func (n *node) realDrivers(claim *resource.ResourceClaim) []string {
	if claim.Status.Allocation == nil {
		return nil
	}
	found := map[string]bool{}
	for _, result := range claim.Status.Allocation.Devices.Results {
		if n.records.drivers[result.Driver] || !slices.Contains(n.opts.Simulated, result.Driver) {
			found[result.Driver] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

func (n *node) held() []Held {
	n.mu.Lock()
	defer n.mu.Unlock()
	var out []Held
	for _, r := range n.records.sorted() {
		out = append(out, Held{Node: n.name, Claim: r.claim(), Pods: maps.Clone(r.Pods)})
	}
	return out
}
