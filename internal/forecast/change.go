package forecast

import (
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/snapshot"
)

// Changes are the changes whose effects a Plan forecasts. They are made in the order of the fields.
type Changes struct {
	Add      []NodesLike   // nodes to add
	Delete   []Ref         // objects to delete, with all that they own
	Taint    []DeviceTaint // devices to taint
	Drain    []string      // nodes to drain
	Apply    []Manifest    // objects to create or change
	Priority *int32        // priority of the pods and PodGroups of Apply, whatever their class; nil for that of the class
}

// Manifest is an object to create or change, as its author wrote it.
type Manifest struct {
	Source string // where it is from, for messages
	Object client.Object
	// Patch is the object as JSON. The fields that it has replace those of an existing object.
	Patch []byte
}

// NodesLike are nodes to add that are like an existing one.
type NodesLike struct {
	// Like is the name of a node, of a pool of its devices, or the value of a label for node pools.
	Like  string
	Count int
}

// Ref names an object to delete.
type Ref struct {
	Kind string // as a person writes it
	Name string
}

func (r Ref) String() string { return r.Kind + "/" + r.Name }

// DeviceTaint is a device to taint.
type DeviceTaint struct {
	// Device is DRIVER/POOL/DEVICE, or its last parts if they are unique.
	Device string
	Effect resourcev1.DeviceTaintEffect
}

// Server completes objects as the API server of the cluster does when they are written.
type Server interface {
	// Create completes a new object, and returns why it would be refused.
	Create(object client.Object, in *snapshot.World) error
	// Merge returns an existing object with the fields of a manifest, and why that would be refused.
	Merge(old client.Object, patch []byte, in *snapshot.World) (client.Object, error)
}
