package model

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Mount is a volume of a pod that comes from a PersistentVolumeClaim.
type Mount struct {
	Claim string    // name of the PersistentVolumeClaim in the pod's namespace
	Owner types.UID // must be its controller, as it was made for the pod; "" for any
}

// VolumeClaim is a PersistentVolumeClaim.
type VolumeClaim struct {
	Key        Key
	UID        types.UID
	Version    uint64
	Controller types.UID
	Volume     string // PersistentVolume that it is or wants to be bound to, or ""
	Bound      bool   // says itself that it is
	OncePod    bool   // one pod alone may use it
	Deleting   bool
}

// VolumeLimits are how many volumes can be attached to a node, by CSI driver; of a driver that is not named any number can be.
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
	Claim   Key                    // that it is for, if any
	Nodes   []*corev1.NodeSelector // that can use it match all of these
	Driver  string                 // of CSI, which attaches it to nodes; "" if none does
	Handle  string                 // by which the driver knows it
}
