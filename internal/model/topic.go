package model

// TopicKind is the kind of a change that a unit can wait for.
type TopicKind string

// A unit that could not be placed waits for topics. A change of the State returns the topics that
// it affects.
const (
	// TopicNodes means that a node was added, or its labels, taints or schedulability changed.
	TopicNodes TopicKind = "nodes"
	// TopicRoom means that resources or ports were released on the node Key.Name.
	TopicRoom TopicKind = "room"
	// TopicDevices means that a device was added, changed or released, or a class has other selectors.
	TopicDevices TopicKind = "devices"
	// TopicPods means that a pod was added to a node or removed: results of pod affinity may change.
	TopicPods TopicKind = "pods"
	// TopicClass means that the DeviceClass Key.Name changed, or the class that offers the resource
	// Key.Name.
	TopicClass TopicKind = "class"
	// TopicClaim means that the ResourceClaim Key changed.
	TopicClaim TopicKind = "claim"
	// TopicGroup means that the PodGroup Key changed.
	TopicGroup TopicKind = "group"
	// TopicTree means that the CompositePodGroup Key changed.
	TopicTree TopicKind = "tree"
	// TopicMembers means that pods of the PodGroup Key were added, removed or became ready.
	TopicMembers TopicKind = "members"
	// TopicPod means that the pod Key changed.
	TopicPod TopicKind = "pod"
	// TopicVolumeClaim means that the PersistentVolumeClaim Key changed, or a pod that mounts it was
	// removed.
	TopicVolumeClaim TopicKind = "volume claim"
	// TopicVolume means that the PersistentVolume Key.Name changed.
	TopicVolume TopicKind = "volume"
)

// Topic is a change that a unit can wait for. Key is empty for kinds that concern the whole
// cluster, and to wait for resources on any node.
type Topic struct {
	Kind TopicKind
	Key  Key
}

func (t Topic) String() string {
	if t.Key == (Key{}) {
		return string(t.Kind)
	}
	if t.Key.Namespace == "" {
		return string(t.Kind) + " " + t.Key.Name
	}
	return string(t.Kind) + " " + t.Key.String()
}
