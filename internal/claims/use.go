package claims

import (
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
)

// OwnerPod returns the pod for which the claim was generated.
func OwnerPod(claim *resource.ResourceClaim) (name string, uid types.UID, ok bool) {
	ref := metav1.GetControllerOfNoCopy(claim)
	if ref == nil || ref.Kind != "Pod" || ref.APIVersion != "v1" {
		return "", "", false
	}
	return ref.Name, ref.UID, true
}

// OwnerGroup returns the PodGroup, of any API version, for which the claim was generated.
func OwnerGroup(claim *resource.ResourceClaim) (name string, uid types.UID, ok bool) {
	ref := metav1.GetControllerOfNoCopy(claim)
	if ref == nil || ref.Kind != "PodGroup" || !strings.HasPrefix(ref.APIVersion, schedulingGroup+"/") {
		return "", "", false
	}
	return ref.Name, ref.UID, true
}

// MadeFor reports, on a node, whether a claim was generated for the pod, for its PodGroup or for a
// tree of groups. A pod has only the name of its PodGroup.
func MadeFor(pod *core.Pod, claim *resource.ResourceClaim) bool {
	if _, uid, ok := OwnerPod(claim); ok {
		return uid == pod.UID
	}
	name, _, ok := OwnerGroup(claim)
	group, member := GroupName(pod)
	return member && (ok && name == group || isOfTree(claim))
}

// NamesPod reports whether the pod itself is a consumer of the claim.
func NamesPod(pod *core.Pod, claim *resource.ResourceClaim) bool {
	return hasConsumer(claim.Status.ReservedFor, PodConsumer(pod))
}

// Uses returns the names of the claims in the pod's spec and status, without duplicates.
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

// MayUse reports whether the pod names the claim, or may mean it through its PodGroup. A pod may be
// bound before its status has the name.
func MayUse(pod *core.Pod, claim *resource.ResourceClaim) bool {
	if slices.Contains(Uses(pod), claim.Name) {
		return true
	}
	group, member := GroupName(pod)
	if !member || !throughGroup(claim, group) {
		return false
	}
	_, _, generated := OwnerGroup(claim)
	return slices.ContainsFunc(pod.Spec.ResourceClaims, func(entry core.PodResourceClaim) bool {
		means, ok := mayMeanGroupEntry(&entry)
		return ok && !hasRecord(pod, entry.Name) &&
			(generated && means == claim.Annotations[PodClaimAnnotation] || !generated && entry.PodGroupResourceClaim != nil)
	})
}

// mayMeanGroupEntry returns the name of the PodGroup's entry that the entry of a member means or,
// if both have the same template, may mean (R13).
func mayMeanGroupEntry(entry *core.PodResourceClaim) (string, bool) {
	switch source := podSource(entry); {
	case source.Kind == GroupEntry:
		return source.Name, true
	case source.Generated():
		return entry.Name, true
	}
	return "", false
}

// throughGroup reports whether pods of the PodGroup with this name may use the claim through it.
func throughGroup(claim *resource.ResourceClaim, group string) bool {
	if name, _, ok := OwnerGroup(claim); ok && name == group {
		return true
	}
	return slices.ContainsFunc(claim.Status.ReservedFor, func(ref resourcev1.ResourceClaimConsumerReference) bool {
		return IsGroupConsumer(ref) && ref.Name == group
	})
}

// LacksRecord reports whether the pod is a member of a PodGroup, and an entry means a generated or
// shared claim, perhaps that of the PodGroup, that its status does not name.
func LacksRecord(pod *core.Pod) bool {
	if _, member := GroupName(pod); !member {
		return false
	}
	return slices.ContainsFunc(pod.Spec.ResourceClaims, func(entry core.PodResourceClaim) bool {
		_, may := mayMeanGroupEntry(&entry)
		return may && !hasRecord(pod, entry.Name)
	})
}

func hasRecord(pod *core.Pod, entry string) bool {
	_, ok := recorded(pod.Status.ResourceClaimStatuses, entry)
	return ok
}
