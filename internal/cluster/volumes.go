package cluster

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/allot-dev/allot/internal/model"
)

// followVolumes subscribes to PersistentVolumes, PersistentVolumeClaims, and the volume limits of
// nodes.
func (f *Feed) followVolumes(caches *Caches) {
	if caches.CSINodes != nil {
		caches.CSINodes.OnChange(func(old, now *storagev1.CSINode) { f.add(csiNodeChange(old, now)) })
	}
	if caches.Volumes == nil || caches.VolumeClaims == nil {
		return
	}
	caches.VolumeClaims.OnChange(func(old, now *corev1.PersistentVolumeClaim) { f.add(volumeClaimChange(old, now)) })
	caches.Volumes.OnChange(func(old, now *corev1.PersistentVolume) { f.add(volumeChange(old, now)) })
}

func volumeClaimChange(old, now *corev1.PersistentVolumeClaim) change {
	if now == nil {
		key := model.KeyOf(old)
		return func(s *model.State) []model.Topic { return s.Volumes.DeleteClaim(key) }
	}
	converted := model.VolumeClaimFrom(now)
	return func(s *model.State) []model.Topic { return s.Volumes.PutClaim(converted) }
}

func volumeChange(old, now *corev1.PersistentVolume) change {
	if now == nil {
		name := old.Name
		return func(s *model.State) []model.Topic { return s.Volumes.Delete(name) }
	}
	converted := model.VolumeFrom(now)
	return func(s *model.State) []model.Topic { return s.Volumes.Put(converted) }
}

func csiNodeChange(old, now *storagev1.CSINode) change {
	if now == nil {
		name := old.Name
		return func(s *model.State) []model.Topic { return s.Volumes.DeleteLimits(name) }
	}
	converted := model.VolumeLimitsFrom(now)
	return func(s *model.State) []model.Topic { return s.Volumes.PutLimits(converted) }
}
