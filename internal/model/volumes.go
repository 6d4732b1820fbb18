package model

import (
	"maps"

	"k8s.io/apimachinery/pkg/api/equality"
)

// VolumeStore holds the PersistentVolumes, PersistentVolumeClaims, and the volume limits of nodes.
type VolumeStore struct {
	claims      map[Key]*VolumeClaim
	volumes     map[string]*Volume
	users       map[Key]int            // number of bound pods that mount the claim
	usersByNode map[string]map[Key]int // the same by node
	limits      map[string]*VolumeLimits
	log         *undoLog
}

func newVolumeStore(log *undoLog) VolumeStore {
	return VolumeStore{
		claims:      map[Key]*VolumeClaim{},
		volumes:     map[string]*Volume{},
		users:       map[Key]int{},
		usersByNode: map[string]map[Key]int{},
		limits:      map[string]*VolumeLimits{},
		log:         log,
	}
}

// Claim returns a PersistentVolumeClaim.
func (s *VolumeStore) Claim(key Key) (*VolumeClaim, bool) {
	claim, ok := s.claims[key]
	return claim, ok
}

// Get returns a PersistentVolume.
func (s *VolumeStore) Get(name string) (*Volume, bool) {
	volume, ok := s.volumes[name]
	return volume, ok
}

// Mounters returns the number of pods on nodes that mount the PersistentVolumeClaim.
func (s *VolumeStore) Mounters(claim Key) int { return s.users[claim] }

// PutClaim adds or replaces a PersistentVolumeClaim.
func (s *VolumeStore) PutClaim(claim *VolumeClaim) []Topic {
	old := s.claims[claim.Key]
	if old != nil && outdated(old.UID, claim.UID, old.Version, claim.Version) {
		return nil
	}
	s.setClaim(claim.Key, claim)
	if old != nil {
		x, y := *old, *claim
		x.Version, y.Version = 0, 0
		if x == y {
			return nil
		}
	}
	return []Topic{{Kind: TopicVolumeClaim, Key: claim.Key}}
}

// DeleteClaim removes a PersistentVolumeClaim.
func (s *VolumeStore) DeleteClaim(key Key) []Topic {
	if _, ok := s.claims[key]; !ok {
		return nil
	}
	s.setClaim(key, nil)
	return []Topic{{Kind: TopicVolumeClaim, Key: key}}
}

func (s *VolumeStore) setClaim(key Key, claim *VolumeClaim) {
	replace(s.log, s.claims, key, claim)
}

// Put adds or replaces a PersistentVolume.
func (s *VolumeStore) Put(volume *Volume) []Topic {
	old := s.volumes[volume.Name]
	if old != nil && outdated(old.UID, volume.UID, old.Version, volume.Version) {
		return nil
	}
	s.set(volume.Name, volume)
	if old != nil {
		x, y := *old, *volume
		x.Version, y.Version = 0, 0
		if equality.Semantic.DeepEqual(x, y) {
			return nil
		}
	}
	return []Topic{{Kind: TopicVolume, Key: Key{Name: volume.Name}}}
}

// Delete removes a PersistentVolume.
func (s *VolumeStore) Delete(name string) []Topic {
	if _, ok := s.volumes[name]; !ok {
		return nil
	}
	s.set(name, nil)
	return []Topic{{Kind: TopicVolume, Key: Key{Name: name}}}
}

func (s *VolumeStore) set(name string, volume *Volume) {
	replace(s.log, s.volumes, name, volume)
}

// count adds by to the mounts of a pod that is added to a node or removed from it.
func (s *VolumeStore) count(pod *Pod, by int) {
	for _, mount := range pod.Mounts {
		key := Key{Namespace: pod.Key.Namespace, Name: mount.Claim}
		if s.users[key] += by; s.users[key] == 0 {
			delete(s.users, key)
		}
		on := s.usersByNode[pod.Node]
		if on == nil {
			on = map[Key]int{}
			s.usersByNode[pod.Node] = on
		}
		if on[key] += by; on[key] == 0 {
			delete(on, key)
		}
		if len(on) == 0 {
			delete(s.usersByNode, pod.Node)
		}
	}
}

// HasLimits reports whether any node limits its volumes.
func (s *VolumeStore) HasLimits() bool { return len(s.limits) > 0 }

// Limit returns how many volumes of a CSI driver can be attached to the node; false if there is no
// limit.
func (s *VolumeStore) Limit(node, driver string) (int, bool) {
	limits, ok := s.limits[node]
	if !ok {
		return 0, false
	}
	limit, ok := limits.ByDriver[driver]
	return limit, ok
}

// Attached returns the handles of the CSI driver's volumes that pods on the node use.
func (s *VolumeStore) Attached(node, driver string) map[string]bool {
	handles := map[string]bool{}
	for key := range s.usersByNode[node] {
		claim, ok := s.claims[key]
		if !ok {
			continue
		}
		if volume, ok := s.volumes[claim.Volume]; ok && volume.Driver == driver {
			handles[volume.Handle] = true
		}
	}
	return handles
}

// PutLimits adds or replaces the limits of a node, which need not be known.
func (s *VolumeStore) PutLimits(limits *VolumeLimits) []Topic {
	old := s.limits[limits.Node]
	if old != nil && outdated(old.UID, limits.UID, old.Version, limits.Version) {
		return nil
	}
	if len(limits.ByDriver) == 0 {
		return s.DeleteLimits(limits.Node)
	}
	s.setLimits(limits.Node, limits)
	if old != nil && maps.Equal(old.ByDriver, limits.ByDriver) {
		return nil
	}
	return []Topic{{Kind: TopicNodes}}
}

// DeleteLimits removes the limits of a node.
func (s *VolumeStore) DeleteLimits(node string) []Topic {
	if _, ok := s.limits[node]; !ok {
		return nil
	}
	s.setLimits(node, nil)
	return []Topic{{Kind: TopicNodes}}
}

func (s *VolumeStore) setLimits(node string, limits *VolumeLimits) {
	replace(s.log, s.limits, node, limits)
}
