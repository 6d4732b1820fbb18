package claims

import core "github.com/allot-dev/allot/api/core/v1"

// PodIndex is the name of the index of pods by the claims that their spec or status names, and by the
// entries of their PodGroups that they may mean without naming the claim.
const PodIndex = "pods-by-claim"

// PodIndexKey returns the key of a claim in the index.
func PodIndexKey(namespace, name string) string { return namespace + "/" + name }

// entryKey returns the key of an entry of PodGroups. It differs from that of each claim.
func entryKey(namespace, entry string) string { return namespace + "/entry/" + entry }

// PodIndexKeys returns the keys of the claims that the pod names, and of the entries without a
// record.
func PodIndexKeys(pod *core.Pod) []string {
	names := Uses(pod)
	for i := range names {
		names[i] = PodIndexKey(pod.Namespace, names[i])
	}
	if _, member := GroupName(pod); !member {
		return names
	}
	for i := range pod.Spec.ResourceClaims {
		entry := &pod.Spec.ResourceClaims[i]
		if means, may := mayMeanGroupEntry(entry); may && !hasRecord(pod, entry.Name) {
			names = append(names, entryKey(pod.Namespace, means))
		}
	}
	return names
}
