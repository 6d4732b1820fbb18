package claims

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	resourcev1alpha3 "github.com/allot-dev/allot/api/resource/v1alpha3"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// Owner is a pod or PodGroup as the one that claims are generated for.
type Owner struct {
	Namespace, Name string
	UID             types.UID
	// Reference is what the generated claims bear.
	Reference metav1.OwnerReference
	// Group is set for a PodGroup; then claims bear the group annotation, too.
	Group bool
	// Records is the owner's status.resourceClaimStatuses.
	Records []corev1.PodResourceClaimStatus
	// Entries are those that need a claim of their own or a record.
	Entries []Entry
	// Problems are entries for which nothing can be done.
	Problems []*Problem
}

// Entry is an entry of spec.resourceClaims for which the owner's status must name a claim.
type Entry struct {
	Name string
	// Source is the template, or Direct with the name that is only recorded.
	Source Source
	// Fixed: the record that is there already is never replaced.
	Fixed bool
}

// GroupOwner gives the PodGroup as an owner of claims.
func GroupOwner(group *scheduling.PodGroup) Owner {
	o := Owner{
		Namespace: group.Namespace, Name: group.Name, UID: group.UID, Group: true, Records: groupRecords(group),
		Reference: reference(schedulingv1beta1.SchemeGroupVersion.String(), "PodGroup", group),
	}
	if group.DeletionTimestamp != nil {
		return o
	}
	for i := range group.Spec.ResourceClaims {
		entry := &group.Spec.ResourceClaims[i]
		source := groupSource(entry)
		switch {
		case source.Generated():
			o.Entries = append(o.Entries, Entry{Name: entry.Name, Source: source})
		case source.Kind == NoSource:
			o.Problems = append(o.Problems, &Problem{Reason: UnknownSource, Entry: entry.Name})
		}
	}
	return o
}

// PodOwner gives the pod as an owner of claims. Group is the PodGroup that it names,
// nil if that does not exist: then nothing can be said of any entry, because each
// may turn out to be the group's (F08). A pod that goes away or is done has no entries.
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
				o.Entries = append(o.Entries, Entry{Name: entry.Name, Source: Source{Direct, claim}, Fixed: pod.Spec.NodeName != ""})
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

// Template is what a claim is generated from.
type Template struct {
	Source      Source
	UID         types.UID
	Labels      map[string]string
	Annotations map[string]string
	Spec        *resource.ResourceClaimSpec
}

// FromTemplate gives a ResourceClaimTemplate as a Template. It shares memory with t.
func FromTemplate(t *resource.ResourceClaimTemplate) Template {
	return Template{Source{NamespacedTemplate, t.Name}, t.UID, t.Spec.Labels, t.Spec.Annotations, &t.Spec.Spec}
}

// FromClusterTemplate gives a ClusterResourceClaimTemplate as a Template. It shares memory with t.
func FromClusterTemplate(t *resourcev1alpha3.ClusterResourceClaimTemplate) Template {
	return Template{Source{ClusterTemplate, t.Name}, t.UID, t.Spec.Labels, t.Spec.Annotations, &t.Spec.Spec}
}

// annotation is what TemplateAnnotation says of claims made from t.
func (t Template) annotation() string {
	return fmt.Sprintf("%s/%s/%s", t.Source.Kind, t.Source.Name, t.UID)
}
