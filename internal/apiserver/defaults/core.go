package defaults

import (
	corev1 "k8s.io/api/core/v1"
)

// Node sets allocatable to capacity if it is empty.
func Node(node *corev1.Node) {
	podCIDRs(&node.Spec)
	status := &node.Status
	if status.Allocatable == nil && status.Capacity != nil {
		status.Allocatable = status.Capacity.DeepCopy()
	}
	quantities(status.Capacity)
	quantities(status.Allocatable)
}

// podCIDRs keeps podCIDR and podCIDRs consistent. podCIDR, which older clients know, takes
// precedence.
func podCIDRs(spec *corev1.NodeSpec) {
	if spec.PodCIDR != "" && (len(spec.PodCIDRs) == 0 || spec.PodCIDRs[0] != spec.PodCIDR) {
		spec.PodCIDRs = []string{spec.PodCIDR}
	}
	if len(spec.PodCIDRs) > 0 {
		spec.PodCIDR = spec.PodCIDRs[0]
	}
}

// Namespace sets the phase and the label with its name. If the name is generated, it is unknown
// when the object is decoded, and the strategy sets the label.
func Namespace(namespace *corev1.Namespace) {
	if namespace.Name != "" {
		if namespace.Labels == nil {
			namespace.Labels = map[string]string{}
		}
		namespace.Labels[corev1.LabelMetadataName] = namespace.Name
	}
	orElse(&namespace.Status.Phase, corev1.NamespaceActive)
}

// Secret sets the type, and adds what is written as text to the data.
func Secret(secret *corev1.Secret) {
	if len(secret.StringData) > 0 && secret.Data == nil {
		secret.Data = make(map[string][]byte, len(secret.StringData))
	}
	for key, value := range secret.StringData {
		secret.Data[key] = []byte(value)
	}
	secret.StringData = nil
	orElse(&secret.Type, corev1.SecretTypeOpaque)
}

// PersistentVolumeClaim sets the phase and the volume mode Filesystem.
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

// PersistentVolume sets the phase, the reclaim policy Retain and the volume mode Filesystem.
func PersistentVolume(volume *corev1.PersistentVolume) {
	orElse(&volume.Status.Phase, corev1.VolumePending)
	orElse(&volume.Spec.PersistentVolumeReclaimPolicy, corev1.PersistentVolumeReclaimRetain)
	orNew(&volume.Spec.VolumeMode, corev1.PersistentVolumeFilesystem)
	quantities(volume.Spec.Capacity)
	persistentSource(&volume.Spec.PersistentVolumeSource)
}
