package model

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// bindCompleted is what upstream's controller puts on a claim once it is bound on both sides.
const bindCompleted = "pv.kubernetes.io/bind-completed"

// VolumeClaimFrom takes from a PersistentVolumeClaim what placement needs.
func VolumeClaimFrom(claim *corev1.PersistentVolumeClaim) *VolumeClaim {
	_, completed := claim.Annotations[bindCompleted]
	c := &VolumeClaim{
		Key:      keyOf(claim),
		UID:      claim.UID,
		Version:  versionOf(claim),
		Volume:   claim.Spec.VolumeName,
		Bound:    completed || claim.Status.Phase == corev1.ClaimBound,
		OncePod:  slices.Contains(claim.Spec.AccessModes, corev1.ReadWriteOncePod),
		Deleting: claim.DeletionTimestamp != nil,
	}
	if controller := metav1.GetControllerOf(claim); controller != nil {
		c.Controller = controller.UID
	}
	return c
}

// VolumeFrom takes from a PersistentVolume what placement needs.
func VolumeFrom(volume *corev1.PersistentVolume) *Volume {
	v := &Volume{Name: volume.Name, UID: volume.UID, Version: versionOf(volume)}
	if ref := volume.Spec.ClaimRef; ref != nil {
		v.Claim = Key{Namespace: ref.Namespace, Name: ref.Name}
	}
	if affinity := volume.Spec.NodeAffinity; affinity != nil {
		v.Nodes = affinity.Required
	}
	return v
}

// mountsFrom finds the volumes of a pod that come from claims. A generic ephemeral volume has one of its own, named
// after the pod and the volume.
func mountsFrom(pod *corev1.Pod) []Mount {
	var mounts []Mount
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		switch {
		case volume.PersistentVolumeClaim != nil:
			mounts = append(mounts, Mount{Claim: volume.PersistentVolumeClaim.ClaimName})
		case volume.Ephemeral != nil:
			mounts = append(mounts, Mount{Claim: pod.Name + "-" + volume.Name, Owner: pod.UID})
		}
	}
	return mounts
}
