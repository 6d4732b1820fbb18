package registry

import (
	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/api/scheduling/v1alpha3"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// The functions in this file restore fields that Kubernetes 1.37 does not have after an update by a
// client that does not know them. They only restore what such a client could not have removed on
// purpose.

// carryPodClaims restores the source of entries without one.
func carryPodClaims(claims, old []core.PodResourceClaim) {
	for i := range claims {
		c := &claims[i]
		if c.ResourceClaimName != nil || c.ResourceClaimTemplateName != nil ||
			c.PodGroupResourceClaim != nil || c.ClusterResourceClaimTemplateName != nil {
			continue
		}
		for j := range old {
			if old[j].Name == c.Name {
				c.PodGroupResourceClaim = old[j].PodGroupResourceClaim
				c.ClusterResourceClaimTemplateName = old[j].ClusterResourceClaimTemplateName
				break
			}
		}
	}
}

// carryGroupClaims restores the source of entries without one.
func carryGroupClaims(claims, old []scheduling.PodGroupResourceClaim) {
	for i := range claims {
		c := &claims[i]
		if c.ResourceClaimName != nil || c.ResourceClaimTemplateName != nil || c.ClusterResourceClaimTemplateName != nil {
			continue
		}
		for j := range old {
			if old[j].Name == c.Name {
				c.ClusterResourceClaimTemplateName = old[j].ClusterResourceClaimTemplateName
				break
			}
		}
	}
}

// carryTemplateClaims restores the claims of templates.
func carryTemplateClaims(templates, old []scheduling.PodGroupTemplate) {
	for i := range templates {
		for j := range old {
			if old[j].Name == templates[i].Name {
				carryGroupClaims(templates[i].ResourceClaims, old[j].ResourceClaims)
			}
		}
	}
}

// carryTreeClaims restores the claims of a tree, which are immutable.
func carryTreeClaims(spec, old *v1alpha3.CompositePodGroupSpec) {
	if spec.ResourceClaims == nil {
		spec.ResourceClaims = old.DeepCopy().ResourceClaims
	}
	carryGroupClaims(spec.ResourceClaims, old.ResourceClaims)
}

// carryCompositeClaims restores the claims of composite templates, which are immutable, and of the
// templates below them.
func carryCompositeClaims(templates, old []scheduling.CompositePodGroupTemplate) {
	for i := range templates {
		for j := range old {
			if t, o := &templates[i], &old[j]; o.Name == t.Name {
				if t.ResourceClaims == nil {
					t.ResourceClaims = o.DeepCopy().ResourceClaims
				}
				carryGroupClaims(t.ResourceClaims, o.ResourceClaims)
				carryTemplateClaims(t.PodGroupTemplates, o.PodGroupTemplates)
				carryCompositeClaims(t.CompositePodGroupTemplates, o.CompositePodGroupTemplates)
			}
		}
	}
}

// carryReservedFor restores a claim's spec.reservedFor, which is immutable.
func carryReservedFor(spec, old *resource.ResourceClaimSpec) {
	if spec.ReservedFor == nil {
		spec.ReservedFor = old.ReservedFor.DeepCopy()
	}
}

// carryAnyPod restores reservedForAnyPod, which does not change while the claim is allocated.
func carryAnyPod(status, old *resource.ResourceClaimStatus) {
	if status.Allocation != nil && old.Allocation != nil && status.Allocation.ReservedForAnyPod == nil {
		status.Allocation.ReservedForAnyPod = old.Allocation.ReservedForAnyPod
	}
}
