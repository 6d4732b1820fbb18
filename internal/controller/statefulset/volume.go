package statefulset

import (
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	apps "github.com/allot-dev/allot/api/apps/v1"
	core "github.com/allot-dev/allot/api/core/v1"
)

// claimName returns the name of the volume claim of a template and an ordinal.
func claimName(set *apps.StatefulSet, template string, ordinal int) string {
	return template + "-" + podName(set, ordinal)
}

// hasClaim reports whether a volume claim of this name belongs to the set, for any ordinal.
func hasClaim(set *apps.StatefulSet, name string) bool {
	return slices.ContainsFunc(set.Spec.VolumeClaimTemplates, func(t corev1.PersistentVolumeClaim) bool {
		digits, ok := strings.CutPrefix(name, t.Name+"-"+set.Name+"-")
		if ok {
			_, ok = parseOrdinal(digits)
		}
		return ok
	})
}

// claimNames returns the names of all volume claims of an ordinal.
func claimNames(set *apps.StatefulSet, ordinal int) []string {
	names := make([]string, len(set.Spec.VolumeClaimTemplates))
	for i := range names {
		names[i] = claimName(set, set.Spec.VolumeClaimTemplates[i].Name, ordinal)
	}
	return names
}

// newClaim returns the volume claim of a template and an ordinal.
func newClaim(
	set *apps.StatefulSet, template *corev1.PersistentVolumeClaim, ordinal int,
) *corev1.PersistentVolumeClaim {
	claim := template.DeepCopy()
	claim.Namespace, claim.Name = set.Namespace, claimName(set, template.Name, ordinal)
	if set.Spec.Selector != nil {
		labels := map[string]string{}
		maps.Copy(labels, claim.Labels)
		maps.Copy(labels, set.Spec.Selector.MatchLabels)
		claim.Labels = labels
	}
	claim.Status = corev1.PersistentVolumeClaimStatus{}
	if wantedOwner(set, ordinal) == setOwns {
		claim.OwnerReferences = append(claim.OwnerReferences, *metav1.NewControllerRef(set, kind))
	}
	return claim
}

// volumes returns the volumes of a pod: the volume claims of the set replace volumes of the
// template with the same name.
func volumes(set *apps.StatefulSet, ordinal int, ofTemplate []corev1.Volume) []corev1.Volume {
	var all []corev1.Volume
	own := map[string]bool{}
	for i := range set.Spec.VolumeClaimTemplates {
		name := set.Spec.VolumeClaimTemplates[i].Name
		own[name] = true
		source := &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claimName(set, name, ordinal)}
		all = append(all, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: source}})
	}
	for _, volume := range ofTemplate {
		if !own[volume.Name] {
			all = append(all, volume)
		}
	}
	return all
}

// owner is the kind of owner that a volume claim has.
type owner int

const (
	nobodyOwns owner = iota // the claim is retained
	setOwns
	podOwns
)

// wantedOwner returns the owner that the retention policy requires: a claim of a pod that was
// scaled away is deleted with the pod, and all others at most with the set.
func wantedOwner(set *apps.StatefulSet, ordinal int) owner {
	policy := set.Spec.PersistentVolumeClaimRetentionPolicy
	switch {
	case policy == nil:
		return nobodyOwns
	case policy.WhenScaled == appsv1.DeletePersistentVolumeClaimRetentionPolicyType && !isWanted(set, ordinal):
		return podOwns
	case policy.WhenDeleted == appsv1.DeletePersistentVolumeClaimRetentionPolicyType:
		return setOwns
	}
	return nobodyOwns
}

// retains reports whether the policy deletes no claim at all.
func retains(set *apps.StatefulSet) bool {
	policy := set.Spec.PersistentVolumeClaimRetentionPolicy
	const deletes = appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	return policy == nil || policy.WhenScaled != deletes && policy.WhenDeleted != deletes
}

// refersTo reports whether ref has the kind and name of an object, whatever its UID.
func refersTo(ref *metav1.OwnerReference, obj metav1.Object, gvk schema.GroupVersionKind) bool {
	return ref.APIVersion == gvk.GroupVersion().String() && ref.Kind == gvk.Kind && ref.Name == obj.GetName()
}

// ownersOf returns the owner references that the claim of a pod must have. changed is false if it
// has them. foreign is true if another controller manages the claim, which then keeps it.
func ownersOf(
	set *apps.StatefulSet, pod *core.Pod, ordinal int, claim *corev1.PersistentVolumeClaim,
) (refs []metav1.OwnerReference, changed, foreign bool) {
	var had []metav1.OwnerReference
	for _, ref := range claim.OwnerReferences {
		ofSet, ofPod := refersTo(&ref, set, kind), refersTo(&ref, pod, podKind)
		switch {
		case ofSet && ref.UID != set.UID, ofPod && ref.UID != pod.UID:
			// the owner was recreated: the garbage collector deletes the claim or removes the
			// reference
			return nil, false, false
		case ofSet, ofPod:
			had = append(had, ref)
			continue
		case ref.Controller != nil && *ref.Controller && !retains(set):
			foreign = true
		}
		refs = append(refs, ref)
	}
	var want []metav1.OwnerReference
	if o := wantedOwner(set, ordinal); !foreign && o == setOwns {
		want = []metav1.OwnerReference{*metav1.NewControllerRef(set, kind)}
	} else if !foreign && o == podOwns {
		want = []metav1.OwnerReference{*metav1.NewControllerRef(pod, podKind)}
	}
	return append(refs, want...), !slices.EqualFunc(had, want, sameOwner), foreign
}

// sameOwner compares two references, which may be set by a person.
func sameOwner(a, b metav1.OwnerReference) bool {
	return a.UID == b.UID && a.Controller != nil && b.Controller != nil && *a.Controller == *b.Controller
}

// isLeftover reports whether a claim belongs to an earlier pod of the name and is deleted with it.
func isLeftover(set *apps.StatefulSet, claim *corev1.PersistentVolumeClaim, ordinal int) bool {
	policy := set.Spec.PersistentVolumeClaimRetentionPolicy
	if policy == nil || policy.WhenScaled != appsv1.DeletePersistentVolumeClaimRetentionPolicyType {
		return false
	}
	pod := &metav1.ObjectMeta{Name: podName(set, ordinal)}
	return slices.ContainsFunc(claim.OwnerReferences,
		func(ref metav1.OwnerReference) bool { return refersTo(&ref, pod, podKind) })
}
