package groups

import core "github.com/allot-dev/allot/api/core/v1"

// Index is the name of the index by which a cache of pods finds the pods of a PodGroup.
const Index = "pods-by-podgroup"

// IndexKey is the key of a PodGroup in the index.
func IndexKey(namespace, name string) string { return namespace + "/" + name }

// IndexKeys gives the key of the PodGroup that the pod names, if any.
func IndexKeys(pod *core.Pod) []string {
	if g := pod.Spec.SchedulingGroup; g != nil && g.PodGroupName != nil && *g.PodGroupName != "" {
		return []string{IndexKey(pod.Namespace, *g.PodGroupName)}
	}
	return nil
}
