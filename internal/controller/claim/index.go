package claim

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/claims"
)

// claimsByUser is an index of claims by the UID of their consumers and controller; under
// deletedKey, of allocated claims of a namespace that are being deleted; and, under groupNameKey, of
// claims that were generated for PodGroups with this name.
const claimsByUser = "claims-by-user"

func deletedKey(namespace string) string { return "deleted in " + namespace }

func groupNameKey(namespace, group string) string { return "for PodGroup " + namespace + "/" + group }

func claimUserKeys(claim *resource.ResourceClaim) []string {
	keys := make([]string, 0, len(claim.Status.ReservedFor)+1)
	for _, ref := range claim.Status.ReservedFor {
		keys = append(keys, string(ref.UID))
	}
	if owner := metav1.GetControllerOfNoCopy(claim); owner != nil {
		keys = append(keys, string(owner.UID))
	}
	if group, _, ok := claims.OwnerGroup(claim); ok {
		keys = append(keys, groupNameKey(claim.Namespace, group))
	}
	if claim.DeletionTimestamp != nil && claim.Status.Allocation != nil {
		keys = append(keys, deletedKey(claim.Namespace))
	}
	return keys
}
