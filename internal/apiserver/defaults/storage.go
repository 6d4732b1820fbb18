package defaults

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// StorageClass sets what happens to volumes that are released, and when volumes are bound.
func StorageClass(c *storagev1.StorageClass) {
	orNew(&c.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete)
	orNew(&c.VolumeBindingMode, storagev1.VolumeBindingImmediate)
}

// CSIDriver sets the abilities that a driver has if it does not say otherwise.
func CSIDriver(d *storagev1.CSIDriver) {
	spec := &d.Spec
	orNew(&spec.AttachRequired, true)
	orNew(&spec.PodInfoOnMount, false)
	orNew(&spec.StorageCapacity, false)
	orNew(&spec.FSGroupPolicy, storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy)
	orNew(&spec.RequiresRepublish, false)
	orNew(&spec.SELinuxMount, false)
	orNew(&spec.PreventPodSchedulingIfMissing, false)
	if len(spec.VolumeLifecycleModes) == 0 {
		spec.VolumeLifecycleModes = []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent}
	}
}

// VolumeAttachment sets the defaults of the source of an inline volume.
func VolumeAttachment(a *storagev1.VolumeAttachment) {
	if spec := a.Spec.Source.InlineVolumeSpec; spec != nil {
		persistentSource(&spec.PersistentVolumeSource)
	}
}
