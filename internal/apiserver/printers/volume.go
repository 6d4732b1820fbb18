package printers

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

const unset = "<unset>"

// PersistentVolumeClaim returns the printer of PersistentVolumeClaims.
func PersistentVolumeClaim() Printer {
	spec, status := corev1.PersistentVolumeClaimSpec{}, corev1.PersistentVolumeClaimStatus{}
	return typed([]metav1.TableColumnDefinition{
		nameColumn(),
		column("Status", "string", status, "phase"),
		column("Volume", "string", spec, "volumeName"),
		column("Capacity", "string", status, "capacity"),
		column("Access Modes", "string", status, "accessModes"),
		column("StorageClass", "string", spec, "storageClassName"),
		column("VolumeAttributesClass", "string", spec, "volumeAttributesClassName"),
		ageColumn(),
		wideOnly(column("VolumeMode", "string", spec, "volumeMode")),
	}, func(c *corev1.PersistentVolumeClaim, now time.Time) []any {
		capacity, modes := "", ""
		if c.Spec.VolumeName != "" {
			size := c.Status.Capacity[corev1.ResourceStorage]
			capacity, modes = size.String(), accessModes(c.Status.AccessModes)
		}
		return []any{
			c.Name, phase(c.DeletionTimestamp, string(c.Status.Phase)), c.Spec.VolumeName, capacity, modes,
			storageClass(c.Annotations,
				ptr.Deref(c.Spec.StorageClassName, "")), ptr.Deref(c.Spec.VolumeAttributesClassName, unset),
			age(c.CreationTimestamp, now), string(ptr.Deref(c.Spec.VolumeMode, unset)),
		}
	})
}

// PersistentVolume returns the printer of PersistentVolumes.
func PersistentVolume() Printer {
	spec, status := corev1.PersistentVolumeSpec{}, corev1.PersistentVolumeStatus{}
	return typed([]metav1.TableColumnDefinition{
		nameColumn(),
		column("Capacity", "string", spec, "capacity"),
		column("Access Modes", "string", spec, "accessModes"),
		column("Reclaim Policy", "string", spec, "persistentVolumeReclaimPolicy"),
		column("Status", "string", status, "phase"),
		column("Claim", "string", spec, "claimRef"),
		column("StorageClass", "string", spec, "storageClassName"),
		column("VolumeAttributesClass", "string", spec, "volumeAttributesClassName"),
		column("Reason", "string", status, "reason"),
		ageColumn(),
		wideOnly(column("VolumeMode", "string", spec, "volumeMode")),
	}, func(v *corev1.PersistentVolume, now time.Time) []any {
		claim, size := "", v.Spec.Capacity[corev1.ResourceStorage]
		if ref := v.Spec.ClaimRef; ref != nil {
			claim = ref.Namespace + "/" + ref.Name
		}
		return []any{
			v.Name, size.String(), accessModes(v.Spec.AccessModes), string(v.Spec.PersistentVolumeReclaimPolicy),
			phase(v.DeletionTimestamp, string(v.Status.Phase)), claim, storageClass(v.Annotations, v.Spec.StorageClassName),
			ptr.Deref(v.Spec.VolumeAttributesClassName, unset), v.Status.Reason, age(v.CreationTimestamp, now),
			string(ptr.Deref(v.Spec.VolumeMode, unset)),
		}
	})
}

func phase(deleted *metav1.Time, phase string) string {
	if deleted != nil {
		return "Terminating"
	}
	return phase
}

// accessModes abbreviates each mode once, in a fixed order.
func accessModes(modes []corev1.PersistentVolumeAccessMode) string {
	var out []string
	for _, m := range []struct {
		mode  corev1.PersistentVolumeAccessMode
		short string
	}{
		{corev1.ReadWriteOnce, "RWO"}, {corev1.ReadOnlyMany, "ROX"}, {corev1.ReadWriteMany, "RWX"},
		{corev1.ReadWriteOncePod, "RWOP"},
	} {
		if slices.Contains(modes, m.mode) {
			out = append(out, m.short)
		}
	}
	return strings.Join(out, ",")
}

// storageClass returns the class in the annotation, which is older than the field, or in the field.
func storageClass(annotations map[string]string, class string) string {
	if old, ok := annotations[corev1.BetaStorageClassAnnotation]; ok {
		return old
	}
	return class
}
