package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
	"k8s.io/dynamic-resource-allocation/resourceslice"
)

// DriverName is the name of [Driver].
const DriverName = "device.example.com"

// Driver is a DRA driver for the devices of one node, built with the helper library for drivers. It
// records the requests of the kubelet.
type Driver struct {
	helper *kubeletplugin.Helper

	mu         sync.Mutex
	prepared   []types.UID // the claims, once for each request
	unprepared []types.UID
}

// StartDriver starts the driver of a kubelet's node, which publishes this number of devices. It has
// its own client, not the kubelet's.
func StartDriver(ctx context.Context, kubelet *Kubelet, clients kubernetes.Interface, devices int) (*Driver, error) {
	data := filepath.Join(kubelet.dir, "driver")
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, err
	}
	d := &Driver{}
	var err error
	d.helper, err = kubeletplugin.Start(ctx, d,
		kubeletplugin.DriverName(DriverName), kubeletplugin.NodeName(kubelet.node), kubeletplugin.KubeClient(clients),
		kubeletplugin.RegistrarDirectoryPath(kubelet.registry()), kubeletplugin.PluginDataDirectoryPath(data),
		kubeletplugin.HealthService(false))
	if err != nil {
		return nil, err
	}
	slice := resourceslice.Slice{}
	for i := range devices {
		slice.Devices = append(slice.Devices, resourcev1.Device{Name: fmt.Sprintf("device-%d", i)})
	}
	pool := resourceslice.Pool{Slices: []resourceslice.Slice{slice}}
	err = d.helper.PublishResources(ctx,
		resourceslice.DriverResources{Pools: map[string]resourceslice.Pool{kubelet.node: pool}})
	if err != nil {
		d.Stop()
		return nil, err
	}
	return d, nil
}

// Stop stops the driver.
func (d *Driver) Stop() { d.helper.Stop() }

// Prepared returns the claims that were prepared so far, once for each request.
func (d *Driver) Prepared() []types.UID {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.prepared)
}

// Unprepared returns the claims that were unprepared so far, once for each request.
func (d *Driver) Unprepared() []types.UID {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.unprepared)
}

// PrepareResourceClaims is called by the kubelet before a pod starts.
func (d *Driver) PrepareResourceClaims(
	_ context.Context, claims []*resourcev1.ResourceClaim,
) (map[types.UID]kubeletplugin.PrepareResult, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	results := map[types.UID]kubeletplugin.PrepareResult{}
	for _, claim := range claims {
		d.prepared = append(d.prepared, claim.UID)
		result := kubeletplugin.PrepareResult{}
		for _, r := range claim.Status.Allocation.Devices.Results {
			if r.Driver == DriverName {
				result.Devices = append(result.Devices, kubeletplugin.Device{
					Requests: []string{
						r.Request,
					}, PoolName: r.Pool, DeviceName: r.Device, CDIDeviceIDs: []string{cdi(claim.UID, r.Device)},
				})
			}
		}
		results[claim.UID] = result
	}
	return results, nil
}

// UnprepareResourceClaims is called by the kubelet when the last pod of a claim has ended.
func (d *Driver) UnprepareResourceClaims(
	_ context.Context, claims []kubeletplugin.NamespacedObject,
) (map[types.UID]error, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	results := map[types.UID]error{}
	for _, claim := range claims {
		d.unprepared = append(d.unprepared, claim.UID)
		results[claim.UID] = nil
	}
	return results, nil
}

// HandleError is called for errors in the background.
func (d *Driver) HandleError(ctx context.Context, err error, msg string) {
	utilruntime.HandleErrorWithContext(ctx, err, msg)
}

// WatchHealthStatus is required by the interface. It is not called without a health service.
func (d *Driver) WatchHealthStatus(context.Context, chan<- kubeletplugin.DeviceHealthReport) error {
	return kubeletplugin.ErrHealthNotSupported
}

// cdi returns the CDI name of a device of a claim.
func cdi(claim types.UID, device string) string {
	return fmt.Sprintf("%s/device=%s-%s", DriverName, claim, device)
}
