package poolstatus

import (
	"maps"
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	upstreamv1alpha3 "k8s.io/api/resource/v1alpha3"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
)

// shares sums up the devices that several claims can share, or returns nil if there are none.
func shares(view *model.PoolView, stock *alloc.PoolSummary) (*upstreamv1alpha3.ShareableSummaryStatus, *string) {
	var whole, part int32
	found := false
	total, consumed := model.Capacity{}, model.Capacity{}
	for i := range view.Devices {
		device := &view.Devices[i]
		if !device.AllowMultipleAllocations {
			continue
		}
		found = true
		switch {
		case view.InUse().Has(i):
			if stock.HasShare(i) {
				part++
			}
		case stock.UnavailableReason(i) == "":
			whole++
		}
		given, all := view.ConsumedCapacity(i)
		for name, has := range device.Capacity {
			add(total, name, has.Value)
			if all || has.Value.Cmp(given[name]) < 0 {
				add(consumed, name, has.Value)
			} else {
				add(consumed, name, given[name])
			}
		}
	}
	switch {
	case !found:
		return nil, nil
	case len(total) > maxEntries:
		return nil, fault(shareableOverCap, "%d capacities, of which %d can be told", len(total), maxEntries)
	}
	out := &upstreamv1alpha3.ShareableSummaryStatus{FullyAvailableDevices: &whole, PartiallyAvailableDevices: &part}
	for _, name := range slices.Sorted(maps.Keys(total)) {
		left := total[name].DeepCopy()
		left.Sub(consumed[name])
		out.Capacity = append(out.Capacity, upstreamv1alpha3.ShareableCapacityStatus{
			Name: string(name), Total: ptr.To(total[name]), Consumed: ptr.To(consumed[name]), Available: &left,
		})
	}
	return out, nil
}

func add(sums model.Capacity, name resourcev1.QualifiedName, amount resource.Quantity) {
	sum, ok := sums[name]
	if !ok {
		sum = resource.Quantity{Format: amount.Format}
	}
	sum.Add(amount)
	sums[name] = sum
}
