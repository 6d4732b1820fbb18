package picture

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/model"
)

// Claim is a ResourceClaim with its devices and what uses it.
type Claim struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	State     State  `json:"state"`
	// Classes are the DeviceClasses of its requests.
	Classes []string `json:"classes,omitempty"`
	// Devices are the devices of its allocation: driver/pool/device.
	Devices []string `json:"devices,omitempty"`
	// Units are the keys of the units whose pods use the claim, or wait for it.
	Units []string `json:"units,omitempty"`
	// Consumers are the entries of status.reservedFor: kind and name.
	Consumers []string `json:"consumers,omitempty"`
	// Since is the time of the allocation; nil if it is not recorded.
	Since *metav1.Time `json:"since,omitempty"`
	// Why describes the problem of the claim's devices, or is "".
	Why string `json:"why,omitempty"`

	key string
}

// Key identifies the claim in the list.
func (c *Claim) Key() string { return c.key }

func (c *Claim) equal(other *Claim) bool {
	return c.key == other.key && c.State == other.State && c.Why == other.Why && c.Since.Equal(other.Since) &&
		slices.Equal(c.Classes, other.Classes) && slices.Equal(c.Devices, other.Devices) &&
		slices.Equal(c.Units, other.Units) && slices.Equal(c.Consumers, other.Consumers)
}

// maxConsumers limits the consumers that are listed of a claim.
const maxConsumers = 20

// claimOf returns a claim, which the State knows as known. users are the pods that mean it, or nil if
// there are none.
func claimOf(
	claim *resource.ResourceClaim, known *model.Claim, users *claimUsers, devices *model.DeviceStore,
) *Claim {
	if users == nil {
		users = &claimUsers{}
	}
	c := &Claim{
		Namespace: known.Key.Namespace, Name: known.Key.Name, Units: users.units, State: Free, key: known.Key.String(),
	}
	for _, request := range known.Requests {
		for _, alternative := range request.Alternatives {
			if !slices.Contains(c.Classes, alternative.Class) {
				c.Classes = append(c.Classes, alternative.Class)
			}
		}
	}
	for i, consumer := range known.Consumers {
		if i == maxConsumers {
			break
		}
		c.Consumers = append(c.Consumers, consumer.Resource+"/"+consumer.Name)
	}
	if known.Allocation != nil {
		for i := range known.Allocation.Devices {
			c.Devices = append(c.Devices, model.DeviceIDOf(known.Allocation.Devices[i]).String())
		}
		c.Since = claim.Status.Allocation.AllocationTimestamp
		c.Why = devices.DamageReason(known)
	}
	switch {
	case known.Deleting:
		c.State = Terminating
	case known.Allocation != nil && (users.placed || hasForeignConsumer(known)):
		c.State = InUse
	case known.Allocation != nil:
		c.State = Reserved
	case len(users.units) > 0:
		c.State = Waiting
	}
	return c
}

// hasForeignConsumer reports whether something uses the claim whose pods are not known.
func hasForeignConsumer(claim *model.Claim) bool {
	return slices.ContainsFunc(claim.Consumers, func(c model.Consumer) bool {
		return !model.IsPodConsumer(c) && c.Resource != "podgroups"
	})
}

// claimUsers are the pods that mean a claim.
type claimUsers struct {
	units  []string // keys, sorted
	placed bool     // whether one of the pods has a node and has not finished
}

func (u *claimUsers) add(unit string, placed bool) {
	u.placed = u.placed || placed
	if at, found := slices.BinarySearch(u.units, unit); !found {
		u.units = slices.Insert(u.units, at, unit)
	}
}
