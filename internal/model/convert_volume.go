package model

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// bindCompleted is the annotation that the PersistentVolume controller writes when a claim is bound
// in both directions.
const bindCompleted = "pv.kubernetes.io/bind-completed"

// VolumeClaimFrom converts a PersistentVolumeClaim.
func VolumeClaimFrom(claim *corev1.PersistentVolumeClaim) *VolumeClaim {
	_, completed := claim.Annotations[bindCompleted]
	c := &VolumeClaim{
		Key:      KeyOf(claim),
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

// VolumeFrom converts a PersistentVolume.
func VolumeFrom(volume *corev1.PersistentVolume) *Volume {
	v := &Volume{Name: volume.Name, UID: volume.UID, Version: versionOf(volume)}
	if ref := volume.Spec.ClaimRef; ref != nil {
		v.Claim = Key{Namespace: ref.Namespace, Name: ref.Name}
	}
	if csi := volume.Spec.CSI; csi != nil {
		v.Driver, v.Handle = csi.Driver, csi.VolumeHandle
	}
	if affinity := volume.Spec.NodeAffinity; affinity != nil && affinity.Required != nil {
		v.Nodes = append(v.Nodes, affinity.Required)
	}
	if zones := zonesOf(volume.Labels); zones != nil {
		v.Nodes = append(v.Nodes, zones)
	}
	return v
}

// zoneLabels are the labels for the location of a volume, each with its deprecated name.
var zoneLabels = [][2]string{
	{corev1.LabelTopologyZone, corev1.LabelFailureDomainBetaZone},
	{corev1.LabelTopologyRegion, corev1.LabelFailureDomainBetaRegion},
}

// zonesOf returns a selector for the nodes in the zones and regions of a volume's labels, and for
// nodes without such labels; nil selects all. For a deprecated label of the volume, either label of
// the node counts, the deprecated one first.
func zonesOf(volume map[string]string) *corev1.NodeSelector {
	terms := []corev1.NodeSelectorTerm{{}}
	require := func(also ...[]corev1.NodeSelectorRequirement) {
		var product []corev1.NodeSelectorTerm
		for _, term := range terms {
			for _, requirements := range also {
				product = append(product,
					corev1.NodeSelectorTerm{MatchExpressions: slices.Concat(term.MatchExpressions, requirements)})
			}
		}
		terms = product
	}
	is := func(key string, values []string) corev1.NodeSelectorRequirement {
		return corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}
	}
	var nowhere []corev1.NodeSelectorRequirement
	for _, label := range zoneLabels {
		now, older := label[0], label[1]
		unset := corev1.NodeSelectorRequirement{Key: older, Operator: corev1.NodeSelectorOpDoesNotExist}
		nowhere = append(nowhere, unset,
			corev1.NodeSelectorRequirement{Key: now, Operator: corev1.NodeSelectorOpDoesNotExist})
		if values := zonesIn(volume[now]); values != nil {
			require([]corev1.NodeSelectorRequirement{is(now, values)})
		}
		if values := zonesIn(volume[older]); values != nil {
			require([]corev1.NodeSelectorRequirement{is(older, values)},
				[]corev1.NodeSelectorRequirement{unset, is(now, values)})
		}
	}
	if len(terms[0].MatchExpressions) == 0 {
		return nil
	}
	return &corev1.NodeSelector{NodeSelectorTerms: append(terms, corev1.NodeSelectorTerm{MatchExpressions: nowhere})}
}

// zonesIn returns the zones in the value of a label, which can have several for a regional disk. It
// returns nil if the value is invalid.
func zonesIn(value string) []string {
	zones := strings.Split(value, "__")
	for i, zone := range zones {
		if zones[i] = strings.TrimSpace(zone); zones[i] == "" {
			return nil
		}
	}
	return zones
}

// VolumeLimitsFrom converts a CSINode.
func VolumeLimitsFrom(node *storagev1.CSINode) *VolumeLimits {
	l := &VolumeLimits{Node: node.Name, UID: node.UID, Version: versionOf(node), ByDriver: map[string]int{}}
	for i := range node.Spec.Drivers {
		if driver := &node.Spec.Drivers[i]; driver.Allocatable != nil && driver.Allocatable.Count != nil {
			l.ByDriver[driver.Name] = int(*driver.Allocatable.Count)
		}
	}
	return l
}

// mountsFrom returns the volumes of a pod that come from PersistentVolumeClaims. The claim of a
// generic ephemeral volume is named after the pod and the volume.
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
