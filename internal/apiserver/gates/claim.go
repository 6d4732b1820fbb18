package gates

import (
	resourcev1 "k8s.io/api/resource/v1"

	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/features"
)

// claimRules returns the rules for the spec of a claim, or of a template's claims.
func claimRules(spec *resource.ResourceClaimSpec) []rule {
	requests := spec.Devices.Requests
	exactly := func(drop func(*resourcev1.ExactDeviceRequest)) {
		for i := range requests {
			if requests[i].Exactly != nil {
				drop(requests[i].Exactly)
			}
		}
	}
	alternatives := func(drop func(*resourcev1.DeviceSubRequest)) {
		for i := range requests {
			for j := range requests[i].FirstAvailable {
				drop(&requests[i].FirstAvailable[j])
			}
		}
	}
	return []rule{
		{features.ReservedForWorkloads, func() { spec.ReservedFor = nil }},
		{features.PrioritizedList, func() {
			for i := range requests {
				requests[i].FirstAvailable = nil
			}
		}},
		{features.AdminAccess, func() { exactly(func(r *resourcev1.ExactDeviceRequest) { r.AdminAccess = nil }) }},
		{features.DeviceTaints, func() {
			exactly(func(r *resourcev1.ExactDeviceRequest) { r.Tolerations = nil })
			alternatives(func(r *resourcev1.DeviceSubRequest) { r.Tolerations = nil })
		}},
		{features.DerivedAttributes, func() {
			exactly(func(r *resourcev1.ExactDeviceRequest) { r.DerivedAttributes = nil })
			alternatives(func(r *resourcev1.DeviceSubRequest) { r.DerivedAttributes = nil })
		}},
		{features.ConsumableCapacity, func() {
			exactly(func(r *resourcev1.ExactDeviceRequest) { r.Capacity = nil })
			alternatives(func(r *resourcev1.DeviceSubRequest) { r.Capacity = nil })
			for i := range spec.Devices.Constraints {
				spec.Devices.Constraints[i].DistinctAttribute = nil
			}
		}},
	}
}

func claimStatusRules(status *resource.ResourceClaimStatus) []rule {
	results := func(drop func(*resourcev1.DeviceRequestAllocationResult)) {
		if status.Allocation == nil {
			return
		}
		for i := range status.Allocation.Devices.Results {
			drop(&status.Allocation.Devices.Results[i])
		}
	}
	return []rule{
		{features.ReservedForWorkloads, func() {
			if status.Allocation != nil {
				status.Allocation.ReservedForAnyPod = nil
			}
		}},
		{features.AdminAccess, func() { results(func(r *resourcev1.DeviceRequestAllocationResult) { r.AdminAccess = nil }) }},
		{features.ConsumableCapacity, func() {
			results(func(r *resourcev1.DeviceRequestAllocationResult) { r.ShareID, r.ConsumedCapacity = nil, nil })
			for i := range status.Devices {
				status.Devices[i].ShareID = nil
			}
		}},
		{features.BindingConditions, func() {
			results(func(r *resourcev1.DeviceRequestAllocationResult) {
				r.BindingConditions, r.BindingFailureConditions = nil, nil
			})
		}},
		{features.OptionalNodeOperations, func() {
			results(func(r *resourcev1.DeviceRequestAllocationResult) { r.SkipNodeOperations = nil })
		}},
		{features.DeviceStatus, func() { status.Devices = nil }},
	}
}

func sliceRules(spec *resourcev1.ResourceSliceSpec) []rule {
	devices := func(drop func(*resourcev1.Device)) {
		for i := range spec.Devices {
			drop(&spec.Devices[i])
		}
	}
	return []rule{
		{features.DeviceTaints, func() { devices(func(d *resourcev1.Device) { d.Taints = nil }) }},
		{features.PartitionableDevices, func() {
			spec.SharedCounters, spec.PerDeviceNodeSelection = nil, nil
			devices(func(d *resourcev1.Device) {
				d.ConsumesCounters, d.NodeName, d.NodeSelector, d.AllNodes = nil, nil, nil, nil
			})
		}},
		{features.CompatibilityGroups, func() { devices(dropGroups) }},
		{
			features.NodeAllocatableResources,
			func() { devices(func(d *resourcev1.Device) { d.NodeAllocatableResources = nil }) },
		},
		{features.OptionalNodeOperations, func() { spec.SkipNodeOperations = nil }},
		{features.PartitionTypes, func() { spec.PartitionTypeAttribute = nil }},
		{features.BindingConditions, func() {
			devices(func(d *resourcev1.Device) {
				d.BindingConditions, d.BindingFailureConditions, d.BindsToNode = nil, nil, nil
			})
		}},
		{features.ConsumableCapacity, func() { devices(dropSharing) }},
		{features.ListTypeAttributes, func() { devices(dropLists) }},
	}
}

func dropGroups(d *resourcev1.Device) {
	for i := range d.ConsumesCounters {
		d.ConsumesCounters[i].CompatibilityGroups = nil
	}
}

// dropSharing makes a device one that can only be allocated as a whole.
func dropSharing(d *resourcev1.Device) {
	d.AllowMultipleAllocations = nil
	for name, capacity := range d.Capacity {
		capacity.RequestPolicy = nil
		d.Capacity[name] = capacity
	}
}

// dropLists drops the lists of attributes, which then have no value. Validation rejects them,
// because a single value cannot be inferred.
func dropLists(d *resourcev1.Device) {
	for name, a := range d.Attributes {
		a.BoolValues, a.IntValues, a.StringValues, a.VersionValues = nil, nil, nil, nil
		d.Attributes[name] = a
	}
}
