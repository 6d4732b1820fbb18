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

// claimName is the name of the volume claim that a template gives to the pod of an ordinal.
func claimName(set *apps.StatefulSet, template string, ordinal int) string {
	return template + "-" + podName(set, ordinal)
}

// hasClaim says that a volume claim of that name would be one of set's, whatever the ordinal.
func hasClaim(set *apps.StatefulSet, name string) bool {
	return slices.ContainsFunc(set.Spec.VolumeClaimTemplates, func(t corev1.PersistentVolumeClaim) bool {
		digits, ok := strings.CutPrefix(name, t.Name+"-"+set.Name+"-")
		if ok {
			_, ok = parseOrdinal(digits)
		}
		return ok
	})
}

// claimNames are the names of all volume claims of an ordinal.
func claimNames(set *apps.StatefulSet, ordinal int) []string {
	names := make([]string, len(set.Spec.VolumeClaimTemplates))
	for i := range names {
		names[i] = claimName(set, set.Spec.VolumeClaimTemplates[i].Name, ordinal)
	}
	return names
}

// newClaim is the volume claim that a template gives to the pod of an ordinal.
func newClaim(set *apps.StatefulSet, template *corev1.PersistentVolumeClaim, ordinal int) *corev1.PersistentVolumeClaim {
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

// volumes are those of a pod: the set's volume claims, which hide volumes of the template that have the same name.
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

// owner says whose end a volume claim shares.
type owner int

const (
	nobodyOwns owner = iota // it is retained
	setOwns
	podOwns
)

// wantedOwner follows the retention policy: a pod that was scaled away takes its claim with it as its owner; all others
// can only end with the set.
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

// retains says that the policy deletes no claim at all.
func retains(set *apps.StatefulSet) bool {
	policy := set.Spec.PersistentVolumeClaimRetentionPolicy
	const deletes = appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	return policy == nil || policy.WhenScaled != deletes && policy.WhenDeleted != deletes
}

// refersTo says that ref names an object, this one or a namesake.
func refersTo(ref *metav1.OwnerReference, obj metav1.Object, gvk schema.GroupVersionKind) bool {
	return ref.APIVersion == gvk.GroupVersion().String() && ref.Kind == gvk.Kind && ref.Name == obj.GetName()
}

// ownersOf are the owner references that the claim of a pod should have. changed is false if it has them; foreign is true
// if another controller manages it, whose claim it then stays.
func ownersOf(set *apps.StatefulSet, pod *core.Pod, ordinal int, claim *corev1.PersistentVolumeClaim) (refs []metav1.OwnerReference, changed, foreign bool) {
	var had []metav1.OwnerReference
	for _, ref := range claim.OwnerReferences {
		ofSet, ofPod := refersTo(&ref, set, kind), refersTo(&ref, pod, podKind)
		switch {
		case ofSet && ref.UID != set.UID, ofPod && ref.UID != pod.UID:
			return nil, false, false // of a namesake that is gone: the garbage collector decides what becomes of the claim
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

// sameOwner compares references of which both may be made by a set or by hand.
func sameOwner(a, b metav1.OwnerReference) bool {
	return a.UID == b.UID && a.Controller != nil && b.Controller != nil && *a.Controller == *b.Controller
}

// isLeftover says that a claim belongs to an earlier pod of the name and goes with it: it is not the new pod's.
func isLeftover(set *apps.StatefulSet, claim *corev1.PersistentVolumeClaim, ordinal int) bool {
	policy := set.Spec.PersistentVolumeClaimRetentionPolicy
	if policy == nil || policy.WhenScaled != appsv1.DeletePersistentVolumeClaimRetentionPolicyType {
		return false
	}
	pod := &metav1.ObjectMeta{Name: podName(set, ordinal)}
	return slices.ContainsFunc(claim.OwnerReferences, func(ref metav1.OwnerReference) bool { return refersTo(&ref, pod, podKind) })
}
