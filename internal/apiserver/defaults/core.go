package defaults

import (
	corev1 "k8s.io/api/core/v1"
)

// Node gives a node that only says what it has the same as what it can give away.
func Node(node *corev1.Node) {
	podCIDRs(&node.Spec)
	status := &node.Status
	if status.Allocatable == nil && status.Capacity != nil {
		status.Allocatable = status.Capacity.DeepCopy()
	}
	quantities(status.Capacity)
	quantities(status.Allocatable)
}

// podCIDRs keeps the range of a node's pods and the list of its ranges in step; the one that older
// clients know wins where they disagree.
func podCIDRs(spec *corev1.NodeSpec) {
	if spec.PodCIDR != "" && (len(spec.PodCIDRs) == 0 || spec.PodCIDRs[0] != spec.PodCIDR) {
		spec.PodCIDRs = []string{spec.PodCIDR}
	}
	if len(spec.PodCIDRs) > 0 {
		spec.PodCIDR = spec.PodCIDRs[0]
	}
}

// Namespace sets the phase and the label with its name; that of a generated name, which is not known
// when the object is decoded, is the strategy's.
func Namespace(namespace *corev1.Namespace) {
	if namespace.Name != "" {
		if namespace.Labels == nil {
			namespace.Labels = map[string]string{}
		}
		namespace.Labels[corev1.LabelMetadataName] = namespace.Name
	}
	orElse(&namespace.Status.Phase, corev1.NamespaceActive)
}

// Secret sets the type.
func Secret(secret *corev1.Secret) {
	orElse(&secret.Type, corev1.SecretTypeOpaque)
}

// PersistentVolumeClaim sets the phase, and that a file system is wanted.
func PersistentVolumeClaim(claim *corev1.PersistentVolumeClaim) {
	orElse(&claim.Status.Phase, corev1.ClaimPending)
	volumeClaimSpec(&claim.Spec)
	quantities(claim.Status.Capacity)
	quantities(claim.Status.AllocatedResources)
}

func volumeClaimSpec(spec *corev1.PersistentVolumeClaimSpec) {
	orNew(&spec.VolumeMode, corev1.PersistentVolumeFilesystem)
	quantities(spec.Resources.Limits)
	quantities(spec.Resources.Requests)
}

// PersistentVolume sets the phase, that data are kept, and that there is a file system.
func PersistentVolume(volume *corev1.PersistentVolume) {
	orElse(&volume.Status.Phase, corev1.VolumePending)
	orElse(&volume.Spec.PersistentVolumeReclaimPolicy, corev1.PersistentVolumeReclaimRetain)
	orNew(&volume.Spec.VolumeMode, corev1.PersistentVolumeFilesystem)
	quantities(volume.Spec.Capacity)
	persistentSource(&volume.Spec.PersistentVolumeSource)
}
