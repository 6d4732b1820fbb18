package claims

import (
	corev1 "k8s.io/api/core/v1"

	core "github.com/allot-dev/allot/api/core/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// SourceKind is the kind of object that a Source names.
type SourceKind string

const (
	// NoSource means that the entry has no source that allot knows.
	NoSource SourceKind = ""
	// Direct is a ResourceClaim in the same namespace.
	Direct SourceKind = "ResourceClaim"
	// NamespacedTemplate is a ResourceClaimTemplate in the same namespace.
	NamespacedTemplate SourceKind = "ResourceClaimTemplate"
	// ClusterTemplate is a ClusterResourceClaimTemplate.
	ClusterTemplate SourceKind = "ClusterResourceClaimTemplate"
	// GroupEntry is an entry of the PodGroup's spec.resourceClaims.
	GroupEntry SourceKind = "PodGroupResourceClaim"
)

// Source is the origin of the claim of an entry.
type Source struct {
	Kind SourceKind
	Name string
}

// Generated reports whether a claim is generated for each owner of an entry with this source.
func (s Source) Generated() bool { return s.Kind == NamespacedTemplate || s.Kind == ClusterTemplate }

func (s Source) String() string { return string(s.Kind) + " " + s.Name }

// podSource returns the source that a pod's entry names, regardless of its PodGroup.
func podSource(entry *core.PodResourceClaim) Source {
	switch {
	case entry.PodGroupResourceClaim != nil:
		return Source{GroupEntry, *entry.PodGroupResourceClaim}
	case entry.ResourceClaimName != nil:
		return Source{Direct, *entry.ResourceClaimName}
	case entry.ResourceClaimTemplateName != nil:
		return Source{NamespacedTemplate, *entry.ResourceClaimTemplateName}
	case entry.ClusterResourceClaimTemplateName != nil:
		return Source{ClusterTemplate, *entry.ClusterResourceClaimTemplateName}
	}
	return Source{}
}

// groupSource returns the source of a PodGroup's entry.
func groupSource(entry *scheduling.PodGroupResourceClaim) Source {
	switch {
	case entry.ResourceClaimName != nil:
		return Source{Direct, *entry.ResourceClaimName}
	case entry.ResourceClaimTemplateName != nil:
		return Source{NamespacedTemplate, *entry.ResourceClaimTemplateName}
	case entry.ClusterResourceClaimTemplateName != nil:
		return Source{ClusterTemplate, *entry.ClusterResourceClaimTemplateName}
	}
	return Source{}
}

// GroupName returns the name of the pod's PodGroup, if it has one.
func GroupName(pod *core.Pod) (string, bool) {
	if g := pod.Spec.SchedulingGroup; g != nil && g.PodGroupName != nil && *g.PodGroupName != "" {
		return *g.PodGroupName, true
	}
	return "", false
}

// belongs reports whether the pod names this PodGroup.
func belongs(pod *core.Pod, group *scheduling.PodGroup) bool {
	name, ok := GroupName(pod)
	return ok && group != nil && group.Name == name && group.Namespace == pod.Namespace
}

// groupEntryOf returns the group's entry that the pod's entry means: the one named by
// podGroupResourceClaim, or the one with equal name and source (R13).
func groupEntryOf(entry *core.PodResourceClaim, group *scheduling.PodGroup) (*scheduling.PodGroupResourceClaim, bool) {
	source := podSource(entry)
	for i := range group.Spec.ResourceClaims {
		candidate := &group.Spec.ResourceClaims[i]
		if source.Kind == GroupEntry {
			if candidate.Name == source.Name {
				return candidate, true
			}
			continue
		}
		if candidate.Name == entry.Name && groupSource(candidate) == source && source.Kind != NoSource {
			return candidate, true
		}
	}
	return nil, false
}

// recorded returns the record of an entry in a status list. A nil claim name means that no claim is
// needed.
func recorded(records []corev1.PodResourceClaimStatus, entry string) (claim *string, ok bool) {
	for i := range records {
		if records[i].Name == entry {
			return records[i].ResourceClaimName, true
		}
	}
	return nil, false
}

// groupRecords returns the PodGroup's status list with the type of a pod's.
func groupRecords(group *scheduling.PodGroup) []corev1.PodResourceClaimStatus {
	return podRecords(group.Status.ResourceClaimStatuses)
}
