package cluster

import (
	"k8s.io/apimachinery/pkg/api/equality"

	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// sameClaims reports whether two versions of a PodGroup give its pods the same claims.
func sameClaims(a, b *scheduling.PodGroup) bool {
	if a == nil || b == nil || a.UID != b.UID {
		return false
	}
	return equality.Semantic.DeepEqual(a.Spec.ResourceClaims, b.Spec.ResourceClaims) &&
		equality.Semantic.DeepEqual(a.Status.ResourceClaimStatuses, b.Status.ResourceClaimStatuses)
}
