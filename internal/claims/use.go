package claims

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
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

// PodSources gives the sources of the pod's entries.
func PodSources(pod *core.Pod) []Source {
	out := make([]Source, 0, len(pod.Spec.ResourceClaims))
	for i := range pod.Spec.ResourceClaims {
		out = append(out, PodSource(&pod.Spec.ResourceClaims[i]))
	}
	return out
}

// GroupSources gives the sources of the PodGroup's entries.
func GroupSources(group *scheduling.PodGroup) []Source {
	out := make([]Source, 0, len(group.Spec.ResourceClaims))
	for i := range group.Spec.ResourceClaims {
		out = append(out, GroupSource(&group.Spec.ResourceClaims[i]))
	}
	return out
}
