package groups

import core "github.com/allot-dev/allot/api/core/v1"

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
