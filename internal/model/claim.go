package model

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	resource "github.com/allot-dev/allot/api/resource/v1"
)

// MaxConsumers is the maximum number of entries in status.reservedFor of a claim.
const MaxConsumers = resourcev1.ResourceClaimReservedForMaxSize

// Consumer is an entry of a claim's status.reservedFor.
type Consumer = resourcev1.ResourceClaimConsumerReference

// PodConsumer returns the reference to a pod.
func PodConsumer(name string, uid types.UID) Consumer {
	return Consumer{Resource: "pods", Name: name, UID: uid}
}

// GroupConsumer returns the reference to a PodGroup.
func GroupConsumer(name string, uid types.UID) Consumer {
	return Consumer{APIGroup: "scheduling.k8s.io", Resource: "podgroups", Name: name, UID: uid}
}

// CompositeConsumer returns the reference to a CompositePodGroup. A claim has it if that is its
// spec.reservedFor.
func CompositeConsumer(name string, uid types.UID) Consumer {
	return Consumer{APIGroup: "scheduling.k8s.io", Resource: "compositepodgroups", Name: name, UID: uid}
}

// IsPodConsumer reports whether the consumer is a pod.
func IsPodConsumer(c Consumer) bool { return c.APIGroup == "" && c.Resource == "pods" }

// IsGroupConsumer reports whether the consumer is a PodGroup or a CompositePodGroup.
func IsGroupConsumer(c Consumer) bool {
	return c == GroupConsumer(c.Name, c.UID) || IsCompositeConsumer(c)
}

// IsCompositeConsumer reports whether the consumer is a CompositePodGroup.
func IsCompositeConsumer(c Consumer) bool { return c == CompositeConsumer(c.Name, c.UID) }

// Claim is a ResourceClaim.
type Claim struct {
	Key     Key
	UID     types.UID
	Version uint64
	// Controller is the UID of the claim's controlling owner: the pod, PodGroup or CompositePodGroup
	// that it was generated for.
	Controller types.UID

	Requests    []Request
	Constraints []resourcev1.DeviceConstraint
	Config      []resourcev1.DeviceClaimConfiguration
	ReservedFor *Consumer         // spec.reservedFor (KEP-5194)
	Unsupported *UnsupportedField // reason why the claim cannot be allocated, or nil

	Allocation *Allocation // nil if the claim is not allocated
	Attachment Attachment
	Consumers  []Consumer // status.reservedFor, in the order of the API
	Protected  bool       // has the delete-protection finalizer
	Deleting   bool

	// Generated is the object to create, for a claim that does not exist yet and is expected
	// (ClaimStore.Expect); otherwise nil.
	Generated *resource.ResourceClaim
}

// Attachment is how far devices with bindingConditions are attached to their node.
type Attachment struct {
	Reports   []resourcev1.AllocatedDeviceStatus // written by the drivers
	Allocated metav1.Time                        // time of the allocation
}

// HasSameRequests reports whether two claims request the same numbers of devices of the same
// classes under the same names. A claim for extended resources specifies nothing else.
func (c *Claim) HasSameRequests(other *Claim) bool {
	return slices.EqualFunc(c.Requests, other.Requests, func(a, b Request) bool {
		return a.Name == b.Name && len(a.Alternatives) == 1 && len(b.Alternatives) == 1 &&
			a.Alternatives[0].Class == b.Alternatives[0].Class && a.Alternatives[0].Count == b.Alternatives[0].Count
	})
}

// UnsupportedField is a field of a claim that cannot be evaluated: its feature is off, or this
// version does not know it.
type UnsupportedField struct {
	Requests []string // names of the requests that the field belongs to
	Field    string   // path of the field in the claim
	Feature  string   // feature that is off, or "" if the field or its value is unknown
	Value    string   // unknown value of the field, or "" if the field itself is unknown
}

// Request is a request for devices. Exactly one of its alternatives is used. An "exactly" request
// has one alternative without a name; the alternatives of a "firstAvailable" request are named and
// ordered by preference.
type Request struct {
	Name         string
	Alternatives []Alternative
	// Extended is the extended resource that the request replaces, in a claim that the scheduler
	// creates; otherwise "".
	Extended corev1.ResourceName
}

// Alternative is one alternative of a request.
type Alternative struct {
	Name              string // name of the subrequest, or ""
	Class             string
	Selectors         []string
	All               bool  // all matching devices; Count is 0
	Count             int64 // number of devices, at least 1
	AdminAccess       bool
	Tolerations       []resourcev1.DeviceToleration
	Capacity          *resourcev1.CapacityRequirements
	DerivedAttributes []resourcev1.DeviceDerivedAttribute
}

// ResultName returns the name of the request in allocation results: "request" or
// "request/subrequest".
func (r Request) ResultName(o Alternative) string {
	if o.Name == "" {
		return r.Name
	}
	return r.Name + "/" + o.Name
}

// Allocation is the allocation of a claim. The timestamp is added when it is written to the API.
type Allocation struct {
	Devices           []resourcev1.DeviceRequestAllocationResult
	Config            []resourcev1.DeviceAllocationConfiguration
	NodeSelector      *corev1.NodeSelector // nil if the devices can be used on all nodes
	ReservedForAnyPod bool                 // KEP-5194
}

// resultOf returns a result for a whole device.
func resultOf(id DeviceID) resourcev1.DeviceRequestAllocationResult {
	return resourcev1.DeviceRequestAllocationResult{Driver: id.Driver, Pool: id.Pool, Device: id.Device}
}

// DeviceIDOf returns the device of an allocation result.
func DeviceIDOf(r resourcev1.DeviceRequestAllocationResult) DeviceID {
	return DeviceID{Driver: r.Driver, Pool: r.Pool, Device: r.Device}
}

// HasNonPodConsumer reports whether status.reservedFor has an entry that is not a pod, so that pods
// need no entry.
func (c *Claim) HasNonPodConsumer() bool {
	for _, consumer := range c.Consumers {
		if !IsPodConsumer(consumer) {
			return true
		}
	}
	return false
}

// HasConsumer reports whether status.reservedFor has an entry for this object, compared by UID.
func (c *Claim) HasConsumer(consumer Consumer) bool {
	for _, have := range c.Consumers {
		if have.UID == consumer.UID && have.Resource == consumer.Resource && have.APIGroup == consumer.APIGroup {
			return true
		}
	}
	return false
}

// Awaits reports whether a device has to become ready before pods are bound (bindingConditions).
func (a *Allocation) Awaits() bool {
	for _, result := range a.results() {
		if len(result.BindingConditions) > 0 {
			return true
		}
	}
	return false
}

// SkipsOperations reports whether a device of the allocation can only be used on nodes that skip
// operations.
func (a *Allocation) SkipsOperations() bool {
	return slices.ContainsFunc(a.results(),
		func(r resourcev1.DeviceRequestAllocationResult) bool { return len(r.SkipNodeOperations) > 0 })
}

// WithoutConditions returns the allocation without binding conditions.
func (a *Allocation) WithoutConditions() *Allocation {
	ready := *a
	ready.Devices = slices.Clone(a.Devices)
	for i := range ready.Devices {
		ready.Devices[i].BindingConditions, ready.Devices[i].BindingFailureConditions = nil, nil
	}
	return &ready
}

func (a *Allocation) results() []resourcev1.DeviceRequestAllocationResult {
	if a == nil {
		return nil
	}
	return a.Devices
}
