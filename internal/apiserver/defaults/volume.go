package defaults

import (
	corev1 "k8s.io/api/core/v1"
)

// volume sets the source emptyDir if there is none, and the defaults of other sources.
func volume(v *corev1.Volume) {
	if v.VolumeSource == (corev1.VolumeSource{}) {
		v.EmptyDir = &corev1.EmptyDirVolumeSource{}
	}
	if v.Image != nil && v.Image.PullPolicy == "" {
		v.Image.PullPolicy = pullPolicy(v.Image.Reference)
	}
	if v.HostPath != nil {
		orNew(&v.HostPath.Type, corev1.HostPathUnset)
	}
	if v.Secret != nil {
		orNew(&v.Secret.DefaultMode, corev1.SecretVolumeSourceDefaultMode)
	}
	if v.ConfigMap != nil {
		orNew(&v.ConfigMap.DefaultMode, corev1.ConfigMapVolumeSourceDefaultMode)
	}
	if v.DownwardAPI != nil {
		orNew(&v.DownwardAPI.DefaultMode, corev1.DownwardAPIVolumeSourceDefaultMode)
		downwardFiles(v.DownwardAPI.Items)
	}
	if v.Projected != nil {
		projected(v.Projected)
	}
	if v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil {
		volumeClaimSpec(&v.Ephemeral.VolumeClaimTemplate.Spec)
	}
	vendorVolume(v)
}

func projected(source *corev1.ProjectedVolumeSource) {
	orNew(&source.DefaultMode, corev1.ProjectedVolumeSourceDefaultMode)
	for i := range source.Sources {
		if down := source.Sources[i].DownwardAPI; down != nil {
			downwardFiles(down.Items)
		}
		if token := source.Sources[i].ServiceAccountToken; token != nil {
			orNew(&token.ExpirationSeconds, 60*60)
		}
	}
}

func downwardFiles(files []corev1.DownwardAPIVolumeFile) {
	for i := range files {
		fieldRef(files[i].FieldRef)
	}
}

// vendorVolume sets the defaults of sources for specific storage systems.
func vendorVolume(v *corev1.Volume) {
	if v.ISCSI != nil {
		orElse(&v.ISCSI.ISCSIInterface, "default")
	}
	if v.RBD != nil {
		orElse(&v.RBD.RBDPool, "rbd")
		orElse(&v.RBD.RadosUser, "admin")
		orElse(&v.RBD.Keyring, "/etc/ceph/keyring")
	}
	if v.AzureDisk != nil {
		orNew(&v.AzureDisk.CachingMode, corev1.AzureDataDiskCachingReadWrite)
		orNew(&v.AzureDisk.FSType, "ext4")
		orNew(&v.AzureDisk.ReadOnly, false)
		orNew(&v.AzureDisk.Kind, corev1.AzureSharedBlobDisk)
	}
	if v.ScaleIO != nil {
		orElse(&v.ScaleIO.StorageMode, "ThinProvisioned")
		orElse(&v.ScaleIO.FSType, "xfs")
	}
}

// persistentSource sets the defaults of the sources of a PersistentVolume, which have types of
// their own.
func persistentSource(s *corev1.PersistentVolumeSource) {
	if s.HostPath != nil {
		orNew(&s.HostPath.Type, corev1.HostPathUnset)
	}
	if s.ISCSI != nil {
		orElse(&s.ISCSI.ISCSIInterface, "default")
	}
	if s.RBD != nil {
		orElse(&s.RBD.RBDPool, "rbd")
		orElse(&s.RBD.RadosUser, "admin")
		orElse(&s.RBD.Keyring, "/etc/ceph/keyring")
	}
	if s.AzureDisk != nil {
		orNew(&s.AzureDisk.CachingMode, corev1.AzureDataDiskCachingReadWrite)
		orNew(&s.AzureDisk.FSType, "ext4")
		orNew(&s.AzureDisk.ReadOnly, false)
		orNew(&s.AzureDisk.Kind, corev1.AzureSharedBlobDisk)
	}
	if s.ScaleIO != nil {
		orElse(&s.ScaleIO.StorageMode, "ThinProvisioned")
		orElse(&s.ScaleIO.FSType, "xfs")
	}
}
