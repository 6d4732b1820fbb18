package claims

import core "github.com/allot-dev/allot/api/core/v1"

// PodIndex is the name of the index by which a cache of pods finds the pods whose spec or status names a claim.
const PodIndex = "pods-by-claim"

// PodIndexKey is the key of a claim in the index.
func PodIndexKey(namespace, name string) string { return namespace + "/" + name }

// PodIndexKeys gives the keys of the claims that the pod names.
func PodIndexKeys(pod *core.Pod) []string {
	names := Uses(pod)
	for i := range names {
		names[i] = PodIndexKey(pod.Namespace, names[i])
	}
	return names
}
