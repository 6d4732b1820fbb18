package claim

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/claims"
)

const (
	// podsByClaim finds the pods whose spec or status names a claim.
	podsByClaim = "pods-by-claim"
	// claimsByUser finds the claims of which an object is a consumer or the controller, by
	// its UID.
	claimsByUser = "claims-by-user"
)

func claimKey(namespace, name string) string { return namespace + "/" + name }

func podClaimKeys(pod *core.Pod) []string {
	names := claims.Uses(pod)
	for i := range names {
		names[i] = claimKey(pod.Namespace, names[i])
	}
	return names
}

func claimUserKeys(claim *resource.ResourceClaim) []string {
	keys := make([]string, 0, len(claim.Status.ReservedFor)+1)
	for _, ref := range claim.Status.ReservedFor {
		keys = append(keys, string(ref.UID))
	}
	if owner := metav1.GetControllerOfNoCopy(claim); owner != nil {
		keys = append(keys, string(owner.UID))
	}
	return keys
}
