package model

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// MaxConsumers is how many entries status.reservedFor of a claim can have.
const MaxConsumers = resourcev1.ResourceClaimReservedForMaxSize

// Consumer is an entry of a claim's status.reservedFor.
type Consumer = resourcev1.ResourceClaimConsumerReference

// PodConsumer refers to a pod.
func PodConsumer(name string, uid types.UID) Consumer {
	return Consumer{Resource: "pods", Name: name, UID: uid}
}

// GroupConsumer refers to a PodGroup.
func GroupConsumer(name string, uid types.UID) Consumer {
	return Consumer{APIGroup: "scheduling.k8s.io", Resource: "podgroups", Name: name, UID: uid}
}

// IsPodConsumer says whether the consumer is a pod.
func IsPodConsumer(c Consumer) bool { return c.APIGroup == "" && c.Resource == "pods" }

// Claim is a ResourceClaim.
type Claim struct {
	Key     Key
	UID     types.UID
	Version uint64
	// Controller is the UID of the owner that controls the claim: the pod or PodGroup that it was generated for.
	Controller types.UID

	Requests    []Request
	Constraints []resourcev1.DeviceConstraint
	Config      []resourcev1.DeviceClaimConfiguration
	ReservedFor *Consumer // spec.reservedFor (KEP-5194)
	Lacks       *Lack     // keeps the claim from being allocated

	Allocation *Allocation // nil: no devices yet
	// What drivers report of devices that have bindingConditions, and since when the claim has them.
	Reports   []resourcev1.AllocatedDeviceStatus
	Allocated metav1.Time
	Consumers []Consumer // status.reservedFor, in the order of the API
	Protected bool       // has the delete-protection finalizer
	Deleting  bool
}

// AsksLike says whether two claims ask for the same numbers of devices of the same classes under the same names, which is
// all that a claim in the place of extended resources says.
func (c *Claim) AsksLike(other *Claim) bool {
	return slices.EqualFunc(c.Requests, other.Requests, func(a, b Request) bool {
		return a.Name == b.Name && len(a.Options) == 1 && len(b.Options) == 1 &&
			a.Options[0].Class == b.Options[0].Class && a.Options[0].Count == b.Options[0].Count
	})
}

// Lack is a field of a claim that cannot be heeded: its feature is off, or this version does not know it.
type Lack struct {
	Requests []string // concerned
	Field    string   // path in the claim
	Feature  string   // that is off; "" if the field, or its value, is unknown
	Value    string   // of the field, if it is not the field that is unknown; else ""
}

// Request asks for devices. Exactly one of its options is used: of an "exactly" request there is one, without a
// name; those of a "firstAvailable" request are named, and an earlier one is preferred.
type Request struct {
	Name    string
	Options []Option
	// Extended is the resource in whose place the devices are wanted, of a claim that the scheduler makes; else "".
	Extended corev1.ResourceName
}

// Option is one way to meet a request.
type Option struct {
	Name              string // of the subrequest, else ""
	Class             string
	Selectors         []string
	All               bool  // every device that matches; Count is 0 then
	Count             int64 // how many devices, at least 1
	AdminAccess       bool
	Tolerations       []resourcev1.DeviceToleration
	Capacity          *resourcev1.CapacityRequirements
	DerivedAttributes []resourcev1.DeviceDerivedAttribute
}

// ResultName is the name under which the results of an option are recorded: the request's, or "request/subrequest".
func (r Request) ResultName(o Option) string {
	if o.Name == "" {
		return r.Name
	}
	return r.Name + "/" + o.Name
}

// Allocation is what a claim got. Whoever writes it to the API adds the timestamp.
type Allocation struct {
	Devices           []resourcev1.DeviceRequestAllocationResult
	Config            []resourcev1.DeviceAllocationConfiguration
	NodeSelector      *corev1.NodeSelector // nil: usable on all nodes
	ReservedForAnyPod bool                 // KEP-5194
}

// resultOf returns a result for a whole device.
func resultOf(id DeviceID) resourcev1.DeviceRequestAllocationResult {
	return resourcev1.DeviceRequestAllocationResult{Driver: id.Driver, Pool: id.Pool, Device: id.Device}
}

// DeviceIDOf is the device of one result.
func DeviceIDOf(r resourcev1.DeviceRequestAllocationResult) DeviceID {
	return DeviceID{Driver: r.Driver, Pool: r.Pool, Device: r.Device}
}

// HasNonPodConsumer says whether somebody other than a pod stands in status.reservedFor, so that pods need not.
func (c *Claim) HasNonPodConsumer() bool {
	for _, consumer := range c.Consumers {
		if !IsPodConsumer(consumer) {
			return true
		}
	}
	return false
}

// HasConsumer says whether exactly this object (by UID) stands in status.reservedFor.
func (c *Claim) HasConsumer(consumer Consumer) bool {
	for _, have := range c.Consumers {
		if have.UID == consumer.UID && have.Resource == consumer.Resource && have.APIGroup == consumer.APIGroup {
			return true
		}
	}
	return false
}

// Awaits says whether a device has to become ready before pods are bound (bindingConditions).
func (a *Allocation) Awaits() bool {
	for _, result := range a.results() {
		if len(result.BindingConditions) > 0 {
			return true
		}
	}
	return false
}

// SkipsOperations reports whether a device of the allocation can only be used on nodes that skip operations.
func (a *Allocation) SkipsOperations() bool {
	return slices.ContainsFunc(a.results(), func(r resourcev1.DeviceRequestAllocationResult) bool { return len(r.SkipNodeOperations) > 0 })
}

// WithoutConditions is the allocation without what its devices wait for.
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
