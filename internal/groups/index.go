package groups

import (
	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/api/scheduling/v1alpha3"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// Index is the name of the index of pods by PodGroup.
const Index = "pods-by-podgroup"

// IndexKey returns the key of a PodGroup in the index.
func IndexKey(namespace, name string) string { return namespace + "/" + name }

// IndexKeys returns the key of the pod's PodGroup, if it has one.
func IndexKeys(pod *core.Pod) []string {
	if g := pod.Spec.SchedulingGroup; g != nil && g.PodGroupName != nil && *g.PodGroupName != "" {
		return []string{IndexKey(pod.Namespace, *g.PodGroupName)}
	}
	return nil
}

// ParentIndex is the name of the indices of PodGroups and CompositePodGroups by their parent.
const ParentIndex = "groups-by-parent"

// ParentKeys returns the key of the CompositePodGroup of which the PodGroup is a child, if it has one.
func ParentKeys(group *scheduling.PodGroup) []string {
	return parentKeys(group.Namespace, group.Spec.ParentCompositePodGroupName)
}

// TreeParentKeys returns the key of the CompositePodGroup of which the CompositePodGroup is a child,
// if it has one.
func TreeParentKeys(tree *v1alpha3.CompositePodGroup) []string {
	return parentKeys(tree.Namespace, tree.Spec.ParentCompositePodGroupName)
}

func parentKeys(namespace string, parent *string) []string {
	if parent == nil || *parent == "" {
		return nil
	}
	return []string{IndexKey(namespace, *parent)}
}
