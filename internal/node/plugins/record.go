package plugins

import (
	"maps"
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	resource "github.com/allot-dev/allot/api/resource/v1"
)

// record is the state of a claim that is prepared on a node, or about to be.
type record struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	UID       types.UID `json:"uid"`
	// Pods has the names of the pods that use the claim on the node.
	Pods map[types.UID]string `json:"pods"`
	// Results are the allocated devices.
	Results []resourcev1.DeviceRequestAllocationResult `json:"results"`
	// Drivers are the drivers to call, with the devices that they have prepared.
	Drivers map[string][]Device `json:"drivers"`

	// prepared means that all drivers have prepared the claim since this process started.
	prepared bool
	// leaving means that the claim is being unprepared.
	leaving bool
}

// Device is a device as its driver prepared it.
type Device struct {
	Pool   string `json:"pool"`
	Device string `json:"device"`
	// Requests are the names of the requests that the device is for. Empty means all.
	Requests []string `json:"requests,omitempty"`
	// CDI are the IDs of the CDI devices for containers.
	CDI     []string  `json:"cdi,omitempty"`
	ShareID types.UID `json:"shareID,omitempty"`
}

// IsFor reports whether the device is for a request of its claim. An empty name means any.
func (d Device) IsFor(request string) bool {
	return request == "" || len(d.Requests) == 0 || slices.Contains(d.Requests, request)
}

// newRecord returns the record of a claim that is allocated and not prepared.
func newRecord(claim *resource.ResourceClaim, drivers []string) *record {
	r := &record{
		Namespace: claim.Namespace,
		Name:      claim.Name,
		UID:       claim.UID,
		Pods:      map[types.UID]string{},
		Drivers:   map[string][]Device{},
	}
	r.Results = slices.Clone(claim.Status.Allocation.Devices.Results)
	for _, driver := range drivers {
		r.Drivers[driver] = nil
	}
	return r
}

func (r *record) key() types.NamespacedName {
	return types.NamespacedName{Namespace: r.Namespace, Name: r.Name}
}

// claim returns a ResourceClaim with what is known of it.
func (r *record) claim() *resource.ResourceClaim {
	claim := &resource.ResourceClaim{}
	claim.Namespace, claim.Name, claim.UID = r.Namespace, r.Name, r.UID
	claim.Status.Allocation = &resource.AllocationResult{}
	claim.Status.Allocation.Devices.Results = slices.Clone(r.Results)
	return claim
}

// driversFor returns the drivers that must be called for an operation, in order.
func (r *record) driversFor(op resourcev1.SkipNodeOperation) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(r.Drivers)), func(driver string) bool {
		return skips(r.Results, driver, op)
	})
}

// skips reports whether all devices of the driver can do without the operation.
func skips(results []resourcev1.DeviceRequestAllocationResult, driver string, op resourcev1.SkipNodeOperation) bool {
	for i := range results {
		skipped := results[i].SkipNodeOperations
		if results[i].Driver == driver && !slices.Contains(skipped, op) &&
			!slices.Contains(skipped, resourcev1.SkipNodeOperationAll) {
			return false
		}
	}
	return true
}
