package claim

import (
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	resource "github.com/allot-dev/allot/api/resource/v1"
)

// Trait is what claims are counted by, in the words of kube-controller-manager's metric.
type Trait struct {
	Allocated, AdminAccess bool
	// Source is "resource_claim_template" or "extended_resource" for a claim that was created for an
	// owner, and "" for a claim that a person created.
	Source string
}

// Count counts claims by their traits.
func Count(claims []*resource.ResourceClaim) map[Trait]int {
	counts := map[Trait]int{}
	for _, claim := range claims {
		counts[Trait{
			Allocated: claim.Status.Allocation != nil, AdminAccess: hasAdminAccess(claim), Source: sourceOf(claim),
		}]++
	}
	return counts
}

func sourceOf(claim *resource.ResourceClaim) string {
	switch {
	case claim.Annotations[resourcev1.ExtendedResourceClaimAnnotation] == "true":
		return "extended_resource"
	case metav1.GetControllerOfNoCopy(claim) != nil:
		return "resource_claim_template"
	}
	return ""
}

// hasAdminAccess reports whether a request of the claim has adminAccess.
func hasAdminAccess(claim *resource.ResourceClaim) bool {
	for i := range claim.Spec.Devices.Requests {
		if exactly := claim.Spec.Devices.Requests[i].Exactly; exactly != nil && ptr.Deref(exactly.AdminAccess, false) {
			return true
		}
	}
	return false
}
