package preempt

import "github.com/allot-dev/allot/internal/model"

// Nomination returns what reserves the unit's nodes and devices until the victims are deleted.
func (r *Result) Nomination(state *model.State) *model.Nomination {
	n := &model.Nomination{Unit: r.Unit, Priority: r.Priority}
	for i := range r.Plan.Pods {
		placed := &r.Plan.Pods[i]
		pod, ok := state.Pods.Get(placed.Pod)
		if !ok {
			continue
		}
		// The stand-in takes resources and repels the pods that the pod repels. It has no labels:
		// no pod may rely on it.
		shape := *pod.Shape
		shape.Labels = nil
		n.Pods = append(n.Pods, &model.Pod{
			Key: standInKey(pod.Key), UID: "kept-for-" + pod.UID, Priority: r.Priority,
			Created: pod.Created, Started: pod.Created, Shape: &shape,
			Node: placed.Node, Draws: placed.Draws, Foreign: true, StandIn: true,
		})
	}
	for i := range r.Plan.Claims {
		claim := &r.Plan.Claims[i]
		if claim.Allocation != nil {
			n.Devices = append(n.Devices, model.DeviceReservation{Claim: claim.Key, Allocation: claim.Allocation})
		}
	}
	for _, reclaim := range r.Reclaims {
		n.Reclaimed = append(n.Reclaimed, reclaim.Claim)
	}
	return n
}

// NominatedNodes returns the nodes that a nomination reserves for pods, by pod.
func NominatedNodes(n *model.Nomination, pods []*model.Pod) map[model.Key]string {
	at := make(map[model.Key]string, len(n.Pods))
	for _, standIn := range n.Pods {
		at[standIn.Key] = standIn.Node
	}
	nodes := make(map[model.Key]string, len(n.Pods))
	for _, pod := range pods {
		if node, ok := at[standInKey(pod.Key)]; ok {
			nodes[pod.Key] = node
		}
	}
	return nodes
}

// NominatedNode returns the node that a nomination reserves for a pod, or "".
func NominatedNode(n *model.Nomination, pod model.Key) string {
	for _, standIn := range n.Pods {
		if standIn.Key == standInKey(pod) {
			return standIn.Node
		}
	}
	return ""
}

// standInKey returns the key of a pod's stand-in. Reasons that name holders show it, so that it
// must be understood. No object has such a name.
func standInKey(key model.Key) model.Key {
	return model.Key{Namespace: key.Namespace, Name: key.Name + " (its place is kept)"}
}
