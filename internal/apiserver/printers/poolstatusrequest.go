package printers

import (
	"fmt"
	"strconv"
	"time"

	upstreamv1alpha3 "k8s.io/api/resource/v1alpha3"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// ResourcePoolStatusRequest returns the printer of ResourcePoolStatusRequests.
func ResourcePoolStatusRequest() Printer {
	return typed([]metav1.TableColumnDefinition{
		nameColumn(),
		column("Driver", "string", upstreamv1alpha3.ResourcePoolStatusRequestSpec{}, "driver"),
		computedColumn("Total", "string", "The devices of all pools in the list."),
		computedColumn("Available", "string", "The devices of these that can be allocated."),
		computedColumn("Allocated", "string", "The devices of these that are allocated."),
		computedColumn("Unavailable", "string",
			"The devices of these that are not allocated and cannot be, because of taints or of other allocated devices."),
		computedColumn("Errors", "string", "The pools of the list that have a validationError."),
		computedColumn("Pools", "integer", "The pools that match the request."),
		computedColumn("Status", "string", "Whether the request is pending, complete or failed."),
		computedColumn("Completed", "string", "The time since the request was completed."),
	}, func(r *upstreamv1alpha3.ResourcePoolStatusRequest, now time.Time) []any {
		row := []any{r.Name, r.Spec.Driver}
		for _, n := range poolTotals(r.Status) {
			row = append(row, n)
		}
		pools, state, completed := poolAnswer(r.Status, now)
		return append(row, pools, state, completed)
	})
}

// poolAnswer returns the number of matching pools, the state of the request, and the time since it
// was completed.
func poolAnswer(
	status *upstreamv1alpha3.ResourcePoolStatusRequestStatus, now time.Time,
) (pools int32, state, completed string) {
	if status == nil {
		return 0, "Pending", "<none>"
	}
	pools = ptr.Deref(status.PoolCount, 0)
	complete := meta.FindStatusCondition(status.Conditions, upstreamv1alpha3.ResourcePoolStatusRequestConditionComplete)
	switch {
	case failed(status):
		return pools, "Failed", "<none>"
	case complete == nil || complete.Status != metav1.ConditionTrue:
		return pools, "Pending", "<none>"
	case int(pools) > len(status.Pools):
		state = fmt.Sprintf("Complete (%d/%d pools)", len(status.Pools), pools)
	default:
		state = "Complete"
	}
	return pools, state, age(complete.LastTransitionTime, now)
}

func failed(status *upstreamv1alpha3.ResourcePoolStatusRequestStatus) bool {
	return meta.IsStatusConditionTrue(status.Conditions, upstreamv1alpha3.ResourcePoolStatusRequestConditionFailed)
}

// poolTotals returns the sums over the pools in the list: total, available, allocated, unavailable,
// and pools with an error.
func poolTotals(status *upstreamv1alpha3.ResourcePoolStatusRequestStatus) []string {
	if status == nil || failed(status) {
		return []string{"-", "-", "-", "-", "-"}
	}
	var sums [5]int
	for i := range status.Pools {
		p := &status.Pools[i]
		for n, value := range []*int32{p.TotalDevices, p.AvailableDevices, p.AllocatedDevices, p.UnavailableDevices} {
			sums[n] += int(ptr.Deref(value, 0))
		}
		if p.ValidationError != nil {
			sums[4]++
		}
	}
	var out []string
	for _, n := range sums {
		out = append(out, strconv.Itoa(n))
	}
	return out
}
