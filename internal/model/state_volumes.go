package model

import (
	"maps"

	"k8s.io/apimachinery/pkg/api/equality"
)

// volumeIndex holds what is known of persistent volumes.
type volumeIndex struct {
	claims  map[Key]*VolumeClaim
	volumes map[string]*Volume
	users   map[Key]int            // bound pods by the claim that they mount
	on      map[string]map[Key]int // the same by node
	limits  map[string]*VolumeLimits
}

func newVolumeIndex() volumeIndex {
	return volumeIndex{claims: map[Key]*VolumeClaim{}, volumes: map[string]*Volume{}, users: map[Key]int{}, on: map[string]map[Key]int{}, limits: map[string]*VolumeLimits{}}
}

// VolumeClaim finds a PersistentVolumeClaim.
func (s *State) VolumeClaim(key Key) (*VolumeClaim, bool) {
	claim, ok := s.volumes.claims[key]
	return claim, ok
}

// Volume finds a PersistentVolume.
func (s *State) Volume(name string) (*Volume, bool) {
	volume, ok := s.volumes.volumes[name]
	return volume, ok
}

// Mounters is how many pods on nodes mount the PersistentVolumeClaim.
func (s *State) Mounters(claim Key) int { return s.volumes.users[claim] }

// PutVolumeClaim adds or replaces a PersistentVolumeClaim.
func (s *State) PutVolumeClaim(claim *VolumeClaim) []Topic {
	old := s.volumes.claims[claim.Key]
	if old != nil && outdated(old.UID, claim.UID, old.Version, claim.Version) {
		return nil
	}
	s.setVolumeClaim(claim.Key, claim)
	if old != nil {
		x, y := *old, *claim
		x.Version, y.Version = 0, 0
		if x == y {
			return nil
		}
	}
	return []Topic{{Kind: TopicVolumeClaim, Key: claim.Key}}
}

// DeleteVolumeClaim forgets a PersistentVolumeClaim.
func (s *State) DeleteVolumeClaim(key Key) []Topic {
	if _, ok := s.volumes.claims[key]; !ok {
		return nil
	}
	s.setVolumeClaim(key, nil)
	return []Topic{{Kind: TopicVolumeClaim, Key: key}}
}

func (s *State) setVolumeClaim(key Key, claim *VolumeClaim) {
	old := s.volumes.claims[key]
	s.record(func() { s.setVolumeClaim(key, old) })
	if claim == nil {
		delete(s.volumes.claims, key)
	} else {
		s.volumes.claims[key] = claim
	}
}

// PutVolume adds or replaces a PersistentVolume.
func (s *State) PutVolume(volume *Volume) []Topic {
	old := s.volumes.volumes[volume.Name]
	if old != nil && outdated(old.UID, volume.UID, old.Version, volume.Version) {
		return nil
	}
	s.setVolume(volume.Name, volume)
	if old != nil {
		x, y := *old, *volume
		x.Version, y.Version = 0, 0
		if equality.Semantic.DeepEqual(x, y) {
			return nil
		}
	}
	return []Topic{{Kind: TopicVolume, Key: Key{Name: volume.Name}}}
}

// DeleteVolume forgets a PersistentVolume.
func (s *State) DeleteVolume(name string) []Topic {
	if _, ok := s.volumes.volumes[name]; !ok {
		return nil
	}
	s.setVolume(name, nil)
	return []Topic{{Kind: TopicVolume, Key: Key{Name: name}}}
}

func (s *State) setVolume(name string, volume *Volume) {
	old := s.volumes.volumes[name]
	s.record(func() { s.setVolume(name, old) })
	if volume == nil {
		delete(s.volumes.volumes, name)
	} else {
		s.volumes.volumes[name] = volume
	}
}

// count keeps the users of claims as a pod comes to a node or leaves it.
func (v *volumeIndex) count(pod *Pod, by int) {
	for _, mount := range pod.Mounts {
		key := Key{Namespace: pod.Key.Namespace, Name: mount.Claim}
		if v.users[key] += by; v.users[key] == 0 {
			delete(v.users, key)
		}
		on := v.on[pod.Node]
		if on == nil {
			on = map[Key]int{}
			v.on[pod.Node] = on
		}
		if on[key] += by; on[key] == 0 {
			delete(on, key)
		}
		if len(on) == 0 {
			delete(v.on, pod.Node)
		}
	}
}

// HasVolumeLimits says whether there is a limit to the volumes of any node.
func (s *State) HasVolumeLimits() bool { return len(s.volumes.limits) > 0 }

// VolumeLimit is how many volumes of a CSI driver can be attached to the node, false for any number.
func (s *State) VolumeLimit(node, driver string) (int, bool) {
	limits, ok := s.volumes.limits[node]
	if !ok {
		return 0, false
	}
	limit, ok := limits.ByDriver[driver]
	return limit, ok
}

// Attached are the handles of a CSI driver's volumes that pods on the node use.
func (s *State) Attached(node, driver string) map[string]bool {
	handles := map[string]bool{}
	for key := range s.volumes.on[node] {
		claim, ok := s.volumes.claims[key]
		if !ok {
			continue
		}
		if volume, ok := s.volumes.volumes[claim.Volume]; ok && volume.Driver == driver {
			handles[volume.Handle] = true
		}
	}
	return handles
}

// PutVolumeLimits adds or replaces the limits of a node, which need not be known.
func (s *State) PutVolumeLimits(limits *VolumeLimits) []Topic {
	old := s.volumes.limits[limits.Node]
	if old != nil && outdated(old.UID, limits.UID, old.Version, limits.Version) {
		return nil
	}
	if len(limits.ByDriver) == 0 {
		return s.DeleteVolumeLimits(limits.Node)
	}
	s.setVolumeLimits(limits.Node, limits)
	if old != nil && maps.Equal(old.ByDriver, limits.ByDriver) {
		return nil
	}
	return []Topic{{Kind: TopicNodes}}
}

// DeleteVolumeLimits has any number of volumes on a node.
func (s *State) DeleteVolumeLimits(node string) []Topic {
	if _, ok := s.volumes.limits[node]; !ok {
		return nil
	}
	s.setVolumeLimits(node, nil)
	return []Topic{{Kind: TopicNodes}}
}

func (s *State) setVolumeLimits(node string, limits *VolumeLimits) {
	old := s.volumes.limits[node]
	s.record(func() { s.setVolumeLimits(node, old) })
	if limits == nil {
		delete(s.volumes.limits, node)
	} else {
		s.volumes.limits[node] = limits
	}
}
