package exampledriver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
	"k8s.io/dynamic-resource-allocation/resourceslice"
)

// healthInterval is how often the driver looks at its devices, and healthRefresh how often it
// reports them at least. Reports count for 30 s.
const (
	healthInterval = 200 * time.Millisecond
	healthRefresh  = 10 * time.Second
)

// driver implements kubeletplugin.DRAPlugin.
type driver struct {
	opts options

	mu  sync.Mutex
	log io.Writer
}

func (d *driver) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	fmt.Fprintf(d.log, format+"\n", args...)
}

// devices returns what the driver publishes: one pool, named after the node.
func (d *driver) devices() resourceslice.DriverResources {
	var devices []resourcev1.Device
	for i := range d.opts.devices {
		devices = append(devices, resourcev1.Device{Name: deviceName(i)})
	}
	slice := resourceslice.Slice{Devices: devices}
	return resourceslice.DriverResources{
		Pools: map[string]resourceslice.Pool{d.opts.node: {Slices: []resourceslice.Slice{slice}}},
	}
}

func deviceName(i int) string { return fmt.Sprintf("gpu-%d", i) }

// PrepareResourceClaims makes the devices of claims ready for containers.
func (d *driver) PrepareResourceClaims(
	ctx context.Context, claims []*resourcev1.ResourceClaim,
) (map[types.UID]kubeletplugin.PrepareResult, error) {
	for _, claim := range claims {
		d.note("prepare %s/%s", claim.Namespace, claim.Name)
	}
	if err := d.fault(ctx); err != nil {
		return nil, err
	}
	results := map[types.UID]kubeletplugin.PrepareResult{}
	for _, claim := range claims {
		results[claim.UID] = d.prepare(claim)
	}
	return results, nil
}

func (d *driver) prepare(claim *resourcev1.ResourceClaim) kubeletplugin.PrepareResult {
	var prepared kubeletplugin.PrepareResult
	for _, result := range claim.Status.Allocation.Devices.Results {
		if result.Driver != d.opts.name {
			continue
		}
		prepared.Devices = append(prepared.Devices, kubeletplugin.Device{
			Requests: []string{result.Request}, PoolName: result.Pool, DeviceName: result.Device,
			CDIDeviceIDs: []string{d.opts.cdiKind() + "=" + result.Device},
		})
	}
	return prepared
}

// UnprepareResourceClaims reverts PrepareResourceClaims. It is no error if a claim is not prepared.
func (d *driver) UnprepareResourceClaims(
	ctx context.Context, claims []kubeletplugin.NamespacedObject,
) (map[types.UID]error, error) {
	for _, claim := range claims {
		d.note("unprepare %s/%s", claim.Namespace, claim.Name)
	}
	if err := d.fault(ctx); err != nil {
		return nil, err
	}
	results := map[types.UID]error{}
	for _, claim := range claims {
		results[claim.UID] = nil
	}
	return results, nil
}

// fault returns the text of the fault file as an error, if there is one, or waits for the end of
// the call if it is "hang".
func (d *driver) fault(ctx context.Context) error {
	text := readFile(d.opts.faultFile)
	switch text {
	case "":
		return nil
	case "hang":
		<-ctx.Done()
		return ctx.Err()
	}
	return errors.New(text)
}

func readFile(name string) string {
	if name == "" {
		return ""
	}
	data, _ := os.ReadFile(name)
	return strings.TrimSpace(string(data))
}

// HandleError is called when something fails in the background, such as the publication of devices.
func (d *driver) HandleError(_ context.Context, err error, msg string) {
	d.note("%s: %v", msg, err)
}

// WatchHealthStatus reports the health of the devices until ctx ends.
func (d *driver) WatchHealthStatus(ctx context.Context, reports chan<- kubeletplugin.DeviceHealthReport) error {
	tick := time.NewTicker(healthInterval)
	defer tick.Stop()
	reported, at := "", time.Time{}
	for {
		if bad := readFile(d.opts.unhealthyFile); bad != reported || time.Since(at) > healthRefresh {
			reported, at = bad, time.Now()
			select {
			case <-ctx.Done():
				return nil
			case reports <- d.healthReport(strings.Fields(bad)):
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
