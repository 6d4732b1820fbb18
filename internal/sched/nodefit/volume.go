package nodefit

import (
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/allot-dev/allot/internal/model"
)

// Mount is a volume of a pod that limits on which nodes, or whether, the pod can run.
type Mount struct {
	Claim  model.Key // key of the PersistentVolumeClaim
	Volume *model.Volume
	Nodes  []*nodeaffinity.LazyErrorNodeSelector // a node that can use the volume matches all
	Once   bool                                  // ReadWriteOncePod: one pod may use it
}

// Mounts are the volumes of a pod that limit it.
type Mounts []Mount

// Selectors returns the node selectors of all volumes.
func (m Mounts) Selectors() []*nodeaffinity.LazyErrorNodeSelector {
	var list []*nodeaffinity.LazyErrorNodeSelector
	for i := range m {
		list = append(list, m[i].Nodes...)
	}
	return list
}

// Unreachable returns a volume that cannot be used from the node, or nil.
func (m Mounts) Unreachable(info *model.NodeInfo) *Mount {
	for i := range m {
		if !AllMatch(m[i].Nodes, info) {
			return &m[i]
		}
	}
	return nil
}

// InUse returns a volume that is for one pod, and that a pod uses, or nil.
func (m Mounts) InUse(state *model.State) *Mount {
	for i := range m {
		if m[i].Once && state.Volumes.Mounters(m[i].Claim) > 0 {
			return &m[i]
		}
	}
	return nil
}

// Limited reports whether limits on the number of a node's volumes can matter.
func (m Mounts) Limited(state *model.State) bool { return len(m) > 0 && state.Volumes.HasLimits() }

// CheckLimits checks whether the volumes can be attached to the node in addition to those of its
// pods. A volume that several pods use is attached once.
func (m Mounts) CheckLimits(state *model.State, info *model.NodeInfo) Failure {
	attached := map[string]map[string]bool{} // handles by driver
	for i := range m {
		volume := m[i].Volume
		limit, limited := state.Volumes.Limit(info.Name, volume.Driver)
		if !limited {
			continue
		}
		handles, known := attached[volume.Driver]
		if !known {
			handles = state.Volumes.Attached(info.Name, volume.Driver)
			attached[volume.Driver] = handles
		}
		if handles[volume.Handle] {
			continue
		}
		if handles[volume.Handle] = true; len(handles) > limit {
			return Failure{Check: CheckVolumeLimit, Detail: volume.Driver}
		}
	}
	return Failure{}
}
