package client

import core "github.com/allot-dev/allot/api/core/v1"

// PodsByNode is the name of the index of pods by spec.nodeName, with PodNodes as key function. All
// components that need the pods of a node share it.
const PodsByNode = "pods-by-node"

// PodNodes returns the node of a bound pod.
func PodNodes(pod *core.Pod) []string {
	if pod.Spec.NodeName == "" {
		return nil
	}
	return []string{pod.Spec.NodeName}
}
