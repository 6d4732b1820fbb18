package claims

import (
	"fmt"
	"maps"

	resourcev1 "k8s.io/api/resource/v1"

	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/features"
	"github.com/allot-dev/allot/internal/model"
)

// PlacedClaim converts a claim for placement while features are off. A claim that uses a disabled
// feature is not allocated, because it would mean something else without the feature. An existing
// allocation stays, and its binding conditions are not waited for.
func PlacedClaim(on features.Set, claim *resource.ResourceClaim) *model.Claim {
	placed := model.ClaimFrom(SeenClaim(on, claim))
	if on == (features.Set{}) {
		return placed
	}
	if placed.Unsupported == nil {
		placed.Unsupported = missingFeature(on, placed)
	}
	if !on.On(features.BindingConditions) && placed.Allocation.Awaits() {
		placed.Allocation = placed.Allocation.WithoutConditions()
		placed.Attachment.Reports = nil
	}
	return placed
}

// missingFeature returns the first field of a claim that requires a disabled feature, or nil.
func missingFeature(on features.Set, claim *model.Claim) *model.UnsupportedField {
	for i := range claim.Requests {
		request := &claim.Requests[i]
		path := fmt.Sprintf("spec.devices.requests[%d]", i)
		for o := range request.Alternatives {
			for _, use := range usesOf(&request.Alternatives[o]) {
				if use.set && !on.On(use.gate) {
					return &model.UnsupportedField{
						Requests: []string{request.Name},
						Field:    alternativePath(path, request, o) + use.field,
						Feature:  use.gate.String(),
					}
				}
			}
		}
	}
	for i := range claim.Constraints {
		if claim.Constraints[i].DistinctAttribute != nil && !on.On(features.ConsumableCapacity) {
			lack := &model.UnsupportedField{
				Field:   fmt.Sprintf("spec.devices.constraints[%d].distinctAttribute", i),
				Feature: features.ConsumableCapacity.String(),
			}
			for r := range claim.Requests {
				lack.Requests = append(lack.Requests, claim.Requests[r].Name)
			}
			return lack
		}
	}
	return nil
}

// alternativeUse is a field of a request alternative, or the alternative itself, that requires a
// feature.
type alternativeUse struct {
	gate  features.Gate
	set   bool
	field string
}

func usesOf(o *model.Alternative) []alternativeUse {
	return []alternativeUse{
		{features.PrioritizedList, o.Name != "", ""},
		{features.AdminAccess, o.AdminAccess, ".adminAccess"},
		{features.ConsumableCapacity, o.Capacity != nil, ".capacity"},
		{features.DerivedAttributes, len(o.DerivedAttributes) > 0, ".derivedAttributes"},
	}
}

// alternativePath returns the field path of an alternative in the claim.
func alternativePath(request string, r *model.Request, o int) string {
	if r.Alternatives[o].Name == "" {
		return request + ".exactly"
	}
	return fmt.Sprintf("%s.firstAvailable[%d]", request, o)
}

// PlacedSlice converts a slice for placement while features are off. A device that cannot be used
// correctly without a disabled feature is not allocated. It stays in the slice for the claims that
// hold it, and for the counters that it consumes.
func PlacedSlice(on features.Set, slice *resourcev1.ResourceSlice) *model.Slice {
	placed := model.SliceFrom(slice)
	if on == (features.Set{}) {
		return placed
	}
	placedAs := map[*model.Usage]*model.Usage{}
	for i := range placed.Devices {
		device := &placed.Devices[i]
		if placedAs[device.Usage] == nil {
			placedAs[device.Usage] = placedUsage(on, slice, *device.Usage)
		}
		device.Usage = placedAs[device.Usage]
		if !on.On(features.ListTypeAttributes) {
			device.Attributes = withoutLists(device.Attributes)
		}
	}
	return placed
}

// placedUsage returns the usage without the fields that devices can do without, or marks it as
// unsupported by the name of the disabled feature.
func placedUsage(on features.Set, slice *resourcev1.ResourceSlice, usage model.Usage) *model.Usage {
	usage.MissingFeature = deviceLacks(on, slice, &usage)
	if !on.On(features.DeviceTaints) {
		usage.Taints = nil
	}
	if !on.On(features.ConsumableCapacity) {
		usage.AllowMultipleAllocations = false
	}
	if !on.On(features.NodeAllocatableResources) {
		usage.NodeResources = nil
	}
	return &usage
}

func deviceLacks(on features.Set, slice *resourcev1.ResourceSlice, device *model.Usage) string {
	perDevice := slice.Spec.PerDeviceNodeSelection != nil && *slice.Spec.PerDeviceNodeSelection
	for _, use := range []struct {
		gate features.Gate
		set  bool
	}{
		{features.PartitionableDevices, perDevice || len(device.ConsumesCounters) > 0},
		{features.CompatibilityGroups, hasGroups(device)},
		{features.BindingConditions, len(device.BindingConditions) > 0},
		{features.OptionalNodeOperations, len(device.SkipNodeOperations) > 0},
	} {
		if use.set && !on.On(use.gate) {
			return use.gate.String()
		}
	}
	return ""
}

func hasGroups(device *model.Usage) bool {
	for i := range device.ConsumesCounters {
		if len(device.ConsumesCounters[i].CompatibilityGroups) > 0 {
			return true
		}
	}
	return false
}

func withoutLists(
	attributes map[resourcev1.QualifiedName]resourcev1.DeviceAttribute,
) map[resourcev1.QualifiedName]resourcev1.DeviceAttribute {
	out := maps.Clone(attributes)
	maps.DeleteFunc(out, func(_ resourcev1.QualifiedName, a resourcev1.DeviceAttribute) bool {
		return len(a.BoolValues)+len(a.IntValues)+len(a.StringValues)+len(a.VersionValues) > 0
	})
	return out
}
