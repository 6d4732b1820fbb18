package client

import core "github.com/allot-dev/allot/api/core/v1"

// PodsByNode is the name of the index of pods by spec.nodeName, with the keys of PodNodes. All
// parts that want to know a node's pods share it.
const PodsByNode = "pods-by-node"

// PodNodes gives the node that the pod is bound to, if any.
func PodNodes(pod *core.Pod) []string {
	if pod.Spec.NodeName == "" {
		return nil
	}
	return []string{pod.Spec.NodeName}
}
