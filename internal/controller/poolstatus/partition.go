package poolstatus

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	upstreamv1alpha3 "k8s.io/api/resource/v1alpha3"
	"k8s.io/utils/ptr"

	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
)

// partitionType is the attribute and its value that partitions of one type have in common.
type partitionType struct{ attribute, value string }

// partitions returns, for each type, the number of devices and how many can be allocated together.
// Devices without a type attribute are not included. A device with an ambiguous type is an error,
// and then nothing is returned.
func partitions(
	view *model.PoolView, stock *alloc.PoolSummary, parts []*resourcev1.ResourceSlice, defaultType *string,
) ([]upstreamv1alpha3.PartitionTypeStatus, *string) {
	attributes := typeAttributes(view, parts, defaultType)
	devices := map[partitionType][]int{}
	for i := range view.Devices {
		device := &view.Devices[i]
		attribute := attributes[device.Name]
		if attribute == "" || len(device.ConsumesCounters) == 0 {
			continue
		}
		value := textOf(view.ID.Driver, device, attribute)
		if value == "" {
			return nil, fault(partitionTypeMissing, "device %s has no text as attribute %s", device.Name, attribute)
		}
		t := partitionType{attribute, value}
		devices[t] = append(devices[t], i)
	}
	if len(devices) > maxEntries {
		return nil, fault(partitionOverCap, "%d partition types, of which %d can be told", len(devices), maxEntries)
	}
	types := slices.SortedFunc(maps.Keys(devices), func(a, b partitionType) int {
		return cmp.Or(cmp.Compare(a.attribute, b.attribute), cmp.Compare(a.value, b.value))
	})
	var out []upstreamv1alpha3.PartitionTypeStatus
	for _, t := range types {
		free := slices.DeleteFunc(slices.Clone(devices[t]), view.InUse().Has)
		most, sure := stock.MaxConcurrent(free)
		if !sure {
			return nil, fault(partitionCost, "devices of type %s share counters in too many ways to be counted", t.value)
		}
		out = append(out, upstreamv1alpha3.PartitionTypeStatus{
			Attribute: t.attribute, Type: t.value, Total: ptr.To(int32(len(devices[t]))), Allocatable: ptr.To(int32(most)),
		})
	}
	return out, nil
}

// typeAttributes returns, for each device, the attribute with its type: as in its slice, or the
// default if no slice of the pool has one.
func typeAttributes(view *model.PoolView, parts []*resourcev1.ResourceSlice, defaultType *string) map[string]string {
	out := map[string]string{}
	for _, s := range parts {
		if s.Spec.PartitionTypeAttribute == nil || s.Spec.Pool.Generation != view.Generation {
			continue
		}
		for i := range s.Spec.Devices {
			out[s.Spec.Devices[i].Name] = string(*s.Spec.PartitionTypeAttribute)
		}
	}
	if len(out) == 0 && defaultType != nil {
		for i := range view.Devices {
			out[view.Devices[i].Name] = *defaultType
		}
	}
	return out
}

// textOf returns the string value of an attribute of a device, or "". A name without a domain is in
// the driver's own domain.
func textOf(driver string, device *model.Device, attribute string) string {
	a, ok := device.Attributes[resourcev1.QualifiedName(attribute)]
	if bare, own := strings.CutPrefix(attribute, driver+"/"); !ok && own {
		a = device.Attributes[resourcev1.QualifiedName(bare)]
	}
	return ptr.Deref(a.StringValue, "")
}
