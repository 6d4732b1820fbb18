package poolstatus

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	upstreamv1alpha3 "k8s.io/api/resource/v1alpha3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/claims"
	"github.com/allot-dev/allot/internal/features"
	"github.com/allot-dev/allot/internal/model"
)

const (
	// maxSize limits the size of a status, so that it can be stored.
	maxSize = 1 << 20
	// maxEntries limits the reported partition types and capacities of a pool.
	maxEntries = 32
	// maxError limits the length of a validationError.
	maxError = 256
)

// Programs recognize validationErrors by these prefixes. All except poolInvalid are those of
// Kubernetes.
const (
	poolIncomplete       = "PoolIncomplete"
	poolInvalid          = "PoolInvalid"
	partitionTypeMissing = "PartitionTypeMissing"
	partitionCost        = "PartitionCostMismatch"
	partitionOverCap     = "PartitionSummaryOverCap"
	shareableOverCap     = "ShareableSummaryOverCap"
)

// facts is the input of a status.
type facts struct {
	slices   []*resourcev1.ResourceSlice
	claims   []*resource.ResourceClaim
	rules    []*resourcev1.DeviceTaintRule
	features features.Set
}

// answer returns the status for a request, and whether one of its pools is still incomplete.
func answer(
	request *upstreamv1alpha3.ResourcePoolStatusRequest, f *facts, now time.Time,
) (status *upstreamv1alpha3.ResourcePoolStatusRequestStatus, incomplete bool) {
	parts := f.pools(&request.Spec)
	state := f.state(request.Spec.Driver, parts)
	status = &upstreamv1alpha3.ResourcePoolStatusRequestStatus{PoolCount: ptr.To(int32(len(parts)))}
	ids := make([]model.PoolID, 0, len(parts))
	for id := range parts {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b model.PoolID) int { return cmp.Compare(a.Pool, b.Pool) })
	if limit := ptr.Deref(request.Spec.Limit, upstreamv1alpha3.ResourcePoolStatusRequestLimitDefault); len(ids) > int(
		limit,
	) {
		ids = ids[:limit]
	}
	faults := 0
	for _, id := range ids {
		view, ok := state.Devices.View(id)
		if !ok {
			continue
		}
		pool := statusOf(&view, parts[id], request.Spec.DefaultPartitionTypeAttribute)
		if pool.ValidationError != nil {
			faults++
		}
		incomplete = incomplete || view.Problem == "" && !view.IsUsable()
		status.Pools = append(status.Pools, pool)
	}
	conclude(status, faults, now)
	return status, incomplete
}

// pools returns the slices that a request selects, by pool.
func (f *facts) pools(
	spec *upstreamv1alpha3.ResourcePoolStatusRequestSpec,
) map[model.PoolID][]*resourcev1.ResourceSlice {
	parts := map[model.PoolID][]*resourcev1.ResourceSlice{}
	for _, s := range f.slices {
		if s.Spec.Driver == spec.Driver && (spec.PoolName == nil || *spec.PoolName == s.Spec.Pool.Name) {
			id := model.PoolID{Driver: s.Spec.Driver, Pool: s.Spec.Pool.Name}
			parts[id] = append(parts[id], s)
		}
	}
	return parts
}

// state returns a State with the pools, the claims that hold their devices, and the taints.
func (f *facts) state(driver string, parts map[model.PoolID][]*resourcev1.ResourceSlice) *model.State {
	state := model.NewState()
	for _, list := range parts {
		for _, s := range list {
			state.Devices.PutSlice(claims.PlacedSlice(f.features, s))
		}
	}
	for _, c := range f.claims {
		if c.Status.Allocation == nil {
			continue
		}
		if slices.ContainsFunc(
			c.Status.Allocation.Devices.Results,
			func(r resourcev1.DeviceRequestAllocationResult) bool { return r.Driver == driver },
		) {
			state.Claims.Put(model.ClaimFrom(c))
		}
	}
	for _, r := range f.rules {
		state.TaintRules.Put(model.TaintRuleFrom(r))
	}
	return state
}

// statusOf counts the devices of one pool.
func statusOf(
	view *model.PoolView, parts []*resourcev1.ResourceSlice, defaultType *string,
) upstreamv1alpha3.PoolStatus {
	pool := upstreamv1alpha3.PoolStatus{
		Driver: view.ID.Driver, PoolName: view.ID.Pool, Generation: view.Generation, NodeName: nodeOf(parts, view.Generation),
	}
	switch {
	case view.Problem != "":
		pool.ValidationError = fault(poolInvalid, "%s", view.Problem)
		return pool
	case !view.IsUsable():
		pool.ValidationError = fault(poolIncomplete, "%d of %d slices of generation %d", view.Slices, view.Want,
			view.Generation)
		return pool
	}
	stock := alloc.NewPoolSummary(view)
	var allocated, unavailable int32
	for i := range view.Devices {
		switch {
		case view.InUse().Has(i):
			allocated++
		case stock.UnavailableReason(i) != "":
			unavailable++
		}
	}
	total := int32(len(view.Devices))
	pool.ResourceSliceCount = ptr.To(int32(view.Slices))
	pool.TotalDevices, pool.AllocatedDevices, pool.UnavailableDevices = &total, &allocated, &unavailable
	pool.AvailableDevices = ptr.To(total - allocated - unavailable)
	var shareFault *string
	pool.PartitionSummary, pool.ValidationError = partitions(view, stock, parts, defaultType)
	if pool.ShareableSummary, shareFault = shares(view, stock); pool.ValidationError == nil {
		pool.ValidationError = shareFault
	}
	return pool
}

// nodeOf returns the node of all slices of the newest generation of a pool, or nil.
func nodeOf(parts []*resourcev1.ResourceSlice, generation int64) *string {
	var node *string
	for _, s := range parts {
		switch {
		case s.Spec.Pool.Generation != generation:
		case s.Spec.NodeName == nil || *s.Spec.NodeName == "" || node != nil && *node != *s.Spec.NodeName:
			return nil
		default:
			node = s.Spec.NodeName
		}
	}
	return node
}

// fault returns a validationError, cut to the permitted length.
func fault(prefix, format string, args ...any) *string {
	text := prefix + ": " + fmt.Sprintf(format, args...)
	return ptr.To(strings.ToValidUTF8(text[:min(len(text), maxError)], ""))
}

// conclude completes a status. A status that is too large to be stored is replaced by one with that
// error.
func conclude(status *upstreamv1alpha3.ResourcePoolStatusRequestStatus, faults int, now time.Time) {
	condition := metav1.Condition{
		Type: upstreamv1alpha3.ResourcePoolStatusRequestConditionComplete, Status: metav1.ConditionTrue,
		LastTransitionTime: metav1.NewTime(now), Reason: "CalculationComplete",
		Message: fmt.Sprintf("%d of %d pools; %d with a validationError", len(status.Pools), *status.PoolCount, faults),
	}
	if status.Size() > maxSize {
		condition.Type, condition.Reason = upstreamv1alpha3.ResourcePoolStatusRequestConditionFailed, "CalculationFailed"
		condition.Message = fmt.Sprintf(
			"the status of %d pools is too large to be stored: name a pool, or ask with a lower limit", len(status.Pools),
		)
		status.Pools = nil
	}
	status.Conditions = []metav1.Condition{condition}
}
