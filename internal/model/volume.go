package model

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Mount is a volume of a pod that comes from a PersistentVolumeClaim.
type Mount struct {
	Claim string // name of the PersistentVolumeClaim in the pod's namespace
	// UID that its controller must have, if it is for the pod's ephemeral volume; "" for any
	Owner types.UID
}

// VolumeClaim is a PersistentVolumeClaim.
type VolumeClaim struct {
	Key        Key
	UID        types.UID
	Version    uint64
	Controller types.UID
	Volume     string // spec.volumeName, or ""
	Bound      bool   // has the annotations of a completed binding
	OncePod    bool   // access mode ReadWriteOncePod
	Deleting   bool
}

// VolumeLimits contains the maximum number of attached volumes of a node, by CSI driver. A driver
// without an entry has no limit.
type VolumeLimits struct {
	Node     string
	UID      types.UID
	Version  uint64
	ByDriver map[string]int
}

// Volume is a PersistentVolume.
type Volume struct {
	Name    string
	UID     types.UID
	Version uint64
	Claim   Key                    // spec.claimRef, if set
	Nodes   []*corev1.NodeSelector // node selectors, all of which a node must match
	Driver  string                 // CSI driver that attaches it to nodes, or ""
	Handle  string                 // volumeHandle of the driver
}
