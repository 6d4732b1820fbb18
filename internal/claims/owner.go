package claims

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	resourcev1alpha3 "github.com/allot-dev/allot/api/resource/v1alpha3"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// Owner is a pod, PodGroup or CompositePodGroup for which claims are generated.
type Owner struct {
	Namespace, Name string
	UID             types.UID
	// Reference is the owner reference of the generated claims.
	Reference metav1.OwnerReference
	// Group is set for a PodGroup. Its claims also get the group annotation.
	Group bool
	// ReservedFor is spec.reservedFor of the generated claims, or nil for that of their template.
	ReservedFor *resourcev1.ResourceClaimConsumerReference
	// Records is the owner's status.resourceClaimStatuses.
	Records []corev1.PodResourceClaimStatus
	// Entries are the entries that need a generated claim or a record in the status.
	Entries []Entry
	// Problems are the entries for which no claim can be generated or recorded.
	Problems []*Problem
}

// Entry is an entry of spec.resourceClaims for which the owner's status must name a claim.
type Entry struct {
	Name string
	// Source is the template, or Direct with a name that only must be recorded.
	Source Source
	// Fixed means that an existing record is never replaced.
	Fixed bool
	// GroupEntry is the entry of the PodGroup, with a template, that an entry of a pod means, or "".
	GroupEntry string
}

// GroupOwner returns the PodGroup as an owner of claims.
func GroupOwner(group *scheduling.PodGroup, trees Trees) Owner {
	o := Owner{
		Namespace: group.Namespace, Name: group.Name, UID: group.UID, Group: true, Records: groupRecords(group),
		Reference: reference(schedulingv1beta1.SchemeGroupVersion.String(), "PodGroup", group),
	}
	if group.DeletionTimestamp == nil {
		o.addGroupEntries(group.Spec.ResourceClaims, group.Spec.ParentCompositePodGroupName, trees)
	}
	return o
}

// PodOwner returns the pod as an owner of claims. group is the PodGroup that the pod names, or nil
// if it does not exist. Without it, no entry can be decided, because each may turn out to mean an
// entry of the group (F08). A pod that is done or being deleted has no entries.
func PodOwner(pod *core.Pod, group *scheduling.PodGroup) Owner {
	o := Owner{
		Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, Records: pod.Status.ResourceClaimStatuses,
		Reference: reference("v1", "Pod", pod),
	}
	if pod.DeletionTimestamp != nil || PodDone(pod) || len(pod.Spec.ResourceClaims) == 0 {
		return o
	}
	name, member := GroupName(pod)
	if member && !belongs(pod, group) {
		o.Problems = append(o.Problems, &Problem{Reason: GroupMissing, Object: name})
		return o
	}
	for i := range pod.Spec.ResourceClaims {
		o.addPodEntry(pod, group, &pod.Spec.ResourceClaims[i])
	}
	return o
}

func (o *Owner) addPodEntry(pod *core.Pod, group *scheduling.PodGroup, entry *core.PodResourceClaim) {
	if group != nil {
		if groupEntry, ok := groupEntryOf(entry, group); ok {
			if claim, state, _ := groupClaim(group, groupEntry); state == Named {
				out := Entry{Name: entry.Name, Source: Source{Direct, claim}, Fixed: pod.Spec.NodeName != ""}
				if groupSource(groupEntry).Generated() {
					out.GroupEntry = groupEntry.Name
				}
				o.Entries = append(o.Entries, out)
			}
			return
		}
	}
	source := podSource(entry)
	switch {
	case source.Generated():
		o.Entries = append(o.Entries, Entry{Name: entry.Name, Source: source})
	case source.Kind == GroupEntry && group == nil:
		o.Problems = append(o.Problems, &Problem{Reason: NotInGroup, Entry: entry.Name, Object: source.Name})
	case source.Kind == GroupEntry:
		o.Problems = append(o.Problems, &Problem{Reason: GroupEntryMissing, Entry: entry.Name, Object: source.Name})
	case source.Kind == NoSource:
		o.Problems = append(o.Problems, &Problem{Reason: UnknownSource, Entry: entry.Name})
	}
}

func reference(apiVersion, kind string, obj metav1.Object) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: apiVersion, Kind: kind, Name: obj.GetName(), UID: obj.GetUID(),
		Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
	}
}

// Template is the source of a generated claim.
type Template struct {
	Source      Source
	UID         types.UID
	Labels      map[string]string
	Annotations map[string]string
	Spec        *resource.ResourceClaimSpec
}

// FromTemplate returns a Template for a ResourceClaimTemplate. It shares memory with t.
func FromTemplate(t *resource.ResourceClaimTemplate) Template {
	return Template{Source{NamespacedTemplate, t.Name}, t.UID, t.Spec.Labels, t.Spec.Annotations, &t.Spec.Spec}
}

// FromClusterTemplate returns a Template for a ClusterResourceClaimTemplate. It shares memory with
// t.
func FromClusterTemplate(t *resourcev1alpha3.ClusterResourceClaimTemplate) Template {
	return Template{Source{ClusterTemplate, t.Name}, t.UID, t.Spec.Labels, t.Spec.Annotations, &t.Spec.Spec}
}

// annotation returns the value of TemplateAnnotation for claims generated from t.
func (t Template) annotation() string {
	return fmt.Sprintf("%s/%s/%s", t.Source.Kind, t.Source.Name, t.UID)
}
