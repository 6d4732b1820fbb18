package claims

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
)

// OwnerPod is the pod that the claim was generated for.
func OwnerPod(claim *resource.ResourceClaim) (name string, uid types.UID, ok bool) {
	ref := metav1.GetControllerOfNoCopy(claim)
	if ref == nil || ref.Kind != "Pod" || ref.APIVersion != "v1" {
		return "", "", false
	}
	return ref.Name, ref.UID, true
}

// OwnerGroup is the PodGroup that the claim was generated for, in whatever version.
func OwnerGroup(claim *resource.ResourceClaim) (name string, uid types.UID, ok bool) {
	ref := metav1.GetControllerOfNoCopy(claim)
	if ref == nil || ref.Kind != "PodGroup" || !strings.HasPrefix(ref.APIVersion, schedulingGroup+"/") {
		return "", "", false
	}
	return ref.Name, ref.UID, true
}

// MadeFor tells, on a node, whether a claim was generated for the pod or for its PodGroup. A pod knows no more of its
// PodGroup than the name.
func MadeFor(pod *core.Pod, claim *resource.ResourceClaim) bool {
	if _, uid, ok := OwnerPod(claim); ok {
		return uid == pod.UID
	}
	name, _, ok := OwnerGroup(claim)
	group, member := GroupName(pod)
	return ok && member && name == group
}

// NamesPod tells whether the pod itself is a consumer of the claim.
func NamesPod(pod *core.Pod, claim *resource.ResourceClaim) bool {
	return holds(claim.Status.ReservedFor, PodConsumer(pod))
}

// Uses gives the names of the claims that the pod's spec and status name, each once.
func Uses(pod *core.Pod) []string {
	var out []string
	seen := map[string]bool{}
	add := func(name *string) {
		if name != nil && *name != "" && !seen[*name] {
			seen[*name] = true
			out = append(out, *name)
		}
	}
	for i := range pod.Spec.ResourceClaims {
		add(pod.Spec.ResourceClaims[i].ResourceClaimName)
	}
	for i := range pod.Status.ResourceClaimStatuses {
		add(pod.Status.ResourceClaimStatuses[i].ResourceClaimName)
	}
	if extended := pod.Status.ExtendedResourceClaimStatus; extended != nil {
		add(&extended.ResourceClaimName)
	}
	return out
}
