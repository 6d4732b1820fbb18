package node

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/controller/reconciler"
	"github.com/allot-dev/allot/internal/fleet"
	"github.com/allot-dev/allot/internal/node/plugins"
)

// nodeDrivers connects the agent with the DRA drivers on its nodes.
type nodeDrivers struct {
	agent *Agent
	host  *plugins.Host
	*driverDevices
	ctx context.Context // context of the calls that follow from events of the host
}

// usePlugins has drivers prepare devices, which register in dir.
func (a *Agent) usePlugins(dir string) error {
	d := &nodeDrivers{agent: a}
	host, err := plugins.New(plugins.Options{
		Dir: dir, Nodes: slices.Sorted(maps.Keys(a.nodes.machines)), Simulated: a.fleet.Drivers(),
		Registered: d.registered, Unavailable: d.unavailable, Changed: d.changed,
	})
	if err != nil {
		return err
	}
	d.host, d.driverDevices = host, newDriverDevices(host, a.podQueue)
	a.drivers = d
	a.pods.holdings, a.pods.prepared = newHoldings(d.driverDevices), host
	for name := range a.nodes.machines {
		for _, driver := range host.Taken(name) {
			a.pools.take(poolKey{driver: driver, pool: name})
		}
	}
	return nil
}

// begin takes up what an earlier agent has left: claims that drivers hold, and the slices that
// drivers have published. Those are deleted, as by a kubelet that starts: no driver has registered
// yet, and a driver that runs publishes them again.
func (d *nodeDrivers) begin(ctx context.Context) error {
	if err := d.host.Open(); err != nil {
		return err
	}
	d.ctx = ctx
	d.driverDevices.begin(ctx)
	byUID := map[types.UID]*core.Pod{}
	for _, pod := range d.agent.inf.Pods().List() {
		byUID[pod.UID] = pod
	}
	for _, held := range d.host.Held() {
		for uid, name := range held.Pods {
			pod := byUID[uid]
			if pod == nil {
				pod = &core.Pod{}
				pod.Namespace, pod.Name, pod.UID, pod.Spec.NodeName = held.Claim.Namespace, name, uid, held.Node
				d.agent.pods.addOrphan(pod)
			}
			d.agent.pods.holdings.restore(held.Claim, pod)
		}
	}
	for name := range d.agent.nodes.machines {
		if len(d.agent.slicesOfDrivers(name, "")) > 0 {
			d.running.Go(func() { d.deleteSlices(name, "") })
		}
	}
	return nil
}

// run lets drivers register until ctx ends, and waits for their calls.
func (d *nodeDrivers) run(ctx context.Context) {
	d.host.Run(ctx)
	d.driverDevices.wait()
}

// registered replaces the simulated devices of the driver on the node by those that it publishes.
func (d *nodeDrivers) registered(node, driver string) {
	key := poolKey{driver: driver, pool: node}
	d.agent.pools.take(key)
	d.agent.poolQueue.Add(key)
}

// changed has the pods of the node go on, and report the health of their devices.
func (d *nodeDrivers) changed(node string) {
	var keys []types.NamespacedName
	for _, pod := range d.agent.inf.Pods().ByIndex(client.PodsByNode, node) {
		keys = append(keys, reconciler.KeyOf(pod))
	}
	d.agent.pods.wake(node, keys)
}

// unavailable deletes the slices of a driver that has not been connected for long.
func (d *nodeDrivers) unavailable(node, driver string) {
	d.running.Go(func() { d.deleteSlices(node, driver) })
}

// deleteSlices deletes the slices that drivers, or one of them, have published for the node.
func (d *nodeDrivers) deleteSlices(node, driver string) {
	backoff := wait.Backoff{Duration: time.Second, Factor: 2, Cap: 5 * time.Minute, Steps: 100}
	_ = wait.ExponentialBackoffWithContext(d.ctx, backoff, func(ctx context.Context) (done bool, err error) {
		var failed []error
		for _, slice := range d.agent.slicesOfDrivers(node, driver) {
			failed = append(failed, client.IgnoreNotFound(d.agent.api.DeleteSlice(ctx, slice)))
		}
		if err := errors.Join(failed...); err != nil {
			klog.FromContext(ctx).Error(err, "delete ResourceSlices of DRA drivers", "node", node, "driver", driver)
			return false, nil
		}
		return true, nil
	})
}

// slicesOfDrivers returns the slices of a node that are not the fleet's, of one driver or, if that
// is empty, of all.
func (a *Agent) slicesOfDrivers(node, driver string) []*resourcev1.ResourceSlice {
	return slices.DeleteFunc(a.inf.ResourceSlices().List(), func(slice *resourcev1.ResourceSlice) bool {
		spec := &slice.Spec
		return spec.NodeName == nil || *spec.NodeName != node || slice.Labels[fleet.LabelFleet] == a.fleet.Name ||
			driver != "" && spec.Driver != driver
	})
}
