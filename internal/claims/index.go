package claims

import core "github.com/allot-dev/allot/api/core/v1"

// PodIndex is the name of the index of pods by the claims that their spec or status names.
const PodIndex = "pods-by-claim"

// PodIndexKey returns the key of a claim in the index.
func PodIndexKey(namespace, name string) string { return namespace + "/" + name }

// PodIndexKeys returns the keys of the claims that the pod names.
func PodIndexKeys(pod *core.Pod) []string {
	names := Uses(pod)
	for i := range names {
		names[i] = PodIndexKey(pod.Namespace, names[i])
	}
	return names
}
