package claims

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/api/scheduling/v1alpha3"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/model"
)

const (
	treesResource = "compositepodgroups"
	treeKind      = "CompositePodGroup"
)

// MaxTreeDepth is the largest number of levels of a tree of groups.
const MaxTreeDepth = model.MaxTreeDepth

// Trees returns the CompositePodGroup with a name in the namespace of an owner. It is nil while the
// feature CompositePodGroup is off.
type Trees func(name string) (*v1alpha3.CompositePodGroup, bool)

// TreeConsumer returns the entry of status.reservedFor for the CompositePodGroup.
func TreeConsumer(tree *v1alpha3.CompositePodGroup) resourcev1.ResourceClaimConsumerReference {
	return model.CompositeConsumer(tree.Name, tree.UID)
}

// IsTreeConsumer reports whether the consumer is a CompositePodGroup.
func IsTreeConsumer(ref resourcev1.ResourceClaimConsumerReference) bool {
	return ref.APIGroup == schedulingGroup && ref.Resource == treesResource
}

// OwnerTree returns the CompositePodGroup for which the claim was generated.
func OwnerTree(claim *resource.ResourceClaim) (name string, uid types.UID, ok bool) {
	ref := metav1.GetControllerOfNoCopy(claim)
	if ref == nil || ref.Kind != treeKind || !strings.HasPrefix(ref.APIVersion, schedulingGroup+"/") {
		return "", "", false
	}
	return ref.Name, ref.UID, true
}

func isOfTree(claim *resource.ResourceClaim) bool {
	_, _, ok := OwnerTree(claim)
	return ok
}

// TreeOwner returns the CompositePodGroup as an owner of claims. The claims that are generated for it
// are reserved for it, once for all pods below it (K5194).
func TreeOwner(tree *v1alpha3.CompositePodGroup, trees Trees) Owner {
	consumer := TreeConsumer(tree)
	o := Owner{
		Namespace: tree.Namespace, Name: tree.Name, UID: tree.UID, ReservedFor: &consumer,
		Records:   podRecords(tree.Status.ResourceClaimStatuses),
		Reference: reference(v1alpha3.SchemeGroupVersion.String(), treeKind, tree),
	}
	if tree.DeletionTimestamp == nil {
		o.addGroupEntries(tree.Spec.ResourceClaims, tree.Spec.ParentCompositePodGroupName, trees)
	}
	return o
}

// addGroupEntries adds the entries of a PodGroup or CompositePodGroup that have a template. An entry
// that a CompositePodGroup above has too, with the same name and source, means the claim of the
// closest such group, as the equal entry of a pod means the claim of its PodGroup (R13).
func (o *Owner) addGroupEntries(entries []scheduling.PodGroupResourceClaim, parent *string, trees Trees) {
	for i := range entries {
		entry := &entries[i]
		source := groupSource(entry)
		if source.Kind == NoSource {
			o.Problems = append(o.Problems, &Problem{Reason: UnknownSource, Entry: entry.Name})
		}
		if !source.Generated() {
			continue
		}
		tree, missing := sharingTree(entry, parent, trees)
		switch {
		case missing != "":
			o.Problems = append(o.Problems, &Problem{Reason: TreeMissing, Entry: entry.Name, Object: missing})
		case tree == nil:
			o.Entries = append(o.Entries, Entry{Name: entry.Name, Source: source})
		default:
			claim, ok := recorded(podRecords(tree.Status.ResourceClaimStatuses), entry.Name)
			if ok && claim != nil {
				o.Entries = append(o.Entries, Entry{Name: entry.Name, Source: Source{Direct, *claim}})
			}
		}
	}
}

// sharingTree returns the closest CompositePodGroup above a group that has an entry with the same
// name and source, or nil; or the name of one above that must be known first and does not exist.
func sharingTree(
	entry *scheduling.PodGroupResourceClaim, parent *string, trees Trees,
) (tree *v1alpha3.CompositePodGroup, missing string) {
	if trees == nil {
		return nil, ""
	}
	for range MaxTreeDepth {
		if parent == nil || *parent == "" {
			return nil, ""
		}
		above, ok := trees(*parent)
		if !ok {
			return nil, *parent
		}
		for i := range above.Spec.ResourceClaims {
			other := &above.Spec.ResourceClaims[i]
			if other.Name == entry.Name && groupSource(other) == groupSource(entry) {
				return above, ""
			}
		}
		parent = above.Spec.ParentCompositePodGroupName
	}
	return nil, ""
}

// TreeEntryKey returns the key in PodIndex of the pods that may mean a claim that was generated for a
// tree, and do not name it: they are in PodGroups that name it.
func TreeEntryKey(claim *resource.ResourceClaim) (key string, ok bool) {
	if !isOfTree(claim) {
		return "", false
	}
	return entryKey(claim.Namespace, claim.Annotations[PodClaimAnnotation]), true
}

// MayUseTree reports whether a pod that does not name the claim of a tree may mean it: the PodGroup
// of the pod names it.
func MayUseTree(pod *core.Pod, group *scheduling.PodGroup, claim *resource.ResourceClaim) bool {
	if !belongs(pod, group) || !isOfTree(claim) {
		return false
	}
	entry := claim.Annotations[PodClaimAnnotation]
	name, ok := recorded(groupRecords(group), entry)
	if !ok || name == nil || *name != claim.Name {
		return false
	}
	for i := range pod.Spec.ResourceClaims {
		means, may := mayMeanGroupEntry(&pod.Spec.ResourceClaims[i])
		if may && means == entry && !hasRecord(pod, pod.Spec.ResourceClaims[i].Name) {
			return true
		}
	}
	return false
}

// podRecords returns the status list of a group with the type of a pod's.
func podRecords(list []schedulingv1beta1.PodGroupResourceClaimStatus) []corev1.PodResourceClaimStatus {
	out := make([]corev1.PodResourceClaimStatus, 0, len(list))
	for _, s := range list {
		out = append(out, corev1.PodResourceClaimStatus(s))
	}
	return out
}
