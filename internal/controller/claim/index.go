package claim

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	resource "github.com/allot-dev/allot/api/resource/v1"
)

// claimsByUser is an index of claims by the UID of their consumers and controller, and, under
// deletedKey, of allocated claims of a namespace that are being deleted.
const claimsByUser = "claims-by-user"

func deletedKey(namespace string) string { return "deleted in " + namespace }

func claimUserKeys(claim *resource.ResourceClaim) []string {
	keys := make([]string, 0, len(claim.Status.ReservedFor)+1)
	for _, ref := range claim.Status.ReservedFor {
		keys = append(keys, string(ref.UID))
	}
	if owner := metav1.GetControllerOfNoCopy(claim); owner != nil {
		keys = append(keys, string(owner.UID))
	}
	if claim.DeletionTimestamp != nil && claim.Status.Allocation != nil {
		keys = append(keys, deletedKey(claim.Namespace))
	}
	return keys
}
