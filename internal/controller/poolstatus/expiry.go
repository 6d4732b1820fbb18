package poolstatus

import (
	"time"

	upstreamv1alpha3 "k8s.io/api/resource/v1alpha3"
)

const (
	// keepAnswered is how long a request is kept after its status was written, and keepPending how
	// long one without a status.
	keepAnswered = time.Hour
	keepPending  = 24 * time.Hour
)

// expiry returns the time at which a request is deleted.
func expiry(request *upstreamv1alpha3.ResourcePoolStatusRequest) time.Time {
	if request.Status == nil {
		return request.CreationTimestamp.Add(keepPending)
	}
	for _, c := range request.Status.Conditions {
		if (c.Type == upstreamv1alpha3.ResourcePoolStatusRequestConditionComplete ||
			c.Type == upstreamv1alpha3.ResourcePoolStatusRequestConditionFailed) &&
			!c.LastTransitionTime.IsZero() {
			return c.LastTransitionTime.Add(keepAnswered)
		}
	}
	return request.CreationTimestamp.Add(keepAnswered)
}
