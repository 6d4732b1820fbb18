package model

// TopicKind says what sort of thing changed, or is waited for.
type TopicKind string

// A unit that could not be placed waits for topics; a change of the State names the topics that it concerns.
const (
	TopicNodes   TopicKind = "nodes"   // a node came, or its labels, taints or schedulability changed
	TopicRoom    TopicKind = "room"    // resources or ports came free on the node Key.Name
	TopicDevices TopicKind = "devices" // a device came, changed, or came free, or a class selects others
	TopicPods    TopicKind = "pods"    // a pod came to or left a node: pod affinity may answer differently
	TopicClass   TopicKind = "class"   // the DeviceClass Key.Name changed, or who offers the resource of that name
	TopicClaim   TopicKind = "claim"   // the ResourceClaim Key changed
	TopicGroup   TopicKind = "group"   // the PodGroup Key changed
	TopicMembers TopicKind = "members" // pods of the PodGroup Key came, went, or became ready
	TopicPod     TopicKind = "pod"     // the pod Key itself changed

	TopicVolumeClaim TopicKind = "volume claim" // the PersistentVolumeClaim Key changed, or lost a user
	TopicVolume      TopicKind = "volume"       // the PersistentVolume Key.Name changed
)

// Topic is something that can change. Key is empty for the kinds that concern the whole cluster, and where any node's
// room is waited for.
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
