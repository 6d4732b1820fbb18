package validation

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	maxDriverNodeID = 256
	maxHealthReason = 256
	maxHealthText   = 1024
	maxHealth       = 16
)

// ValidateCSINode checks a new CSINode.
func ValidateCSINode(n *storagev1.CSINode) field.ErrorList {
	return append(metadata(&n.ObjectMeta, clusterScoped, apivalidation.NameIsDNSSubdomain), nodeDrivers(n)...)
}

// ValidateCSINodeUpdate checks a change of a CSINode. Of a driver that stays, only the number of
// volumes may change.
func ValidateCSINodeUpdate(n, old *storagev1.CSINode) field.ErrorList {
	errs := join(metadataAgain(&n.ObjectMeta, &old.ObjectMeta, apivalidation.NameIsDNSSubdomain), nodeDrivers(n))
	before := map[string]storagev1.CSINodeDriver{}
	for _, d := range old.Spec.Drivers {
		before[d.Name] = withoutVolumes(d)
	}
	for _, d := range n.Spec.Drivers {
		if was, ok := before[d.Name]; ok {
			errs = append(errs, immutableField(field.NewPath("spec", "drivers"), withoutVolumes(d), was)...)
		}
	}
	return errs
}

func withoutVolumes(d storagev1.CSINodeDriver) storagev1.CSINodeDriver {
	d.Allocatable = nil
	return d
}

func nodeDrivers(n *storagev1.CSINode) field.ErrorList {
	path := field.NewPath("spec", "drivers")
	return append(each(path, n.Spec.Drivers, nodeDriver),
		distinct(path, n.Spec.Drivers, "name", func(d *storagev1.CSINodeDriver) string { return d.Name })...)
}

func nodeDriver(path *field.Path, d *storagev1.CSINodeDriver) field.ErrorList {
	id := path.Child("nodeID")
	errs := join(driverName(path.Child("name"), d.Name), required(id, d.NodeID),
		check(len(d.NodeID) <= maxDriverNodeID, id, d.NodeID, fmt.Sprintf("must be %d characters or less", maxDriverNodeID)))
	if d.Allocatable != nil && d.Allocatable.Count != nil {
		errs = append(errs, nonNegative(path.Child("allocatable", "count"), *d.Allocatable.Count)...)
	}
	seen := map[string]bool{}
	for _, key := range d.TopologyKeys { // Kubernetes reports them for the driver
		if seen[key] {
			errs = append(errs, field.Duplicate(path, key))
			continue
		}
		seen[key] = true
		errs = append(errs, required(path, key)...)
		errs = append(errs, wellFormed(path, key, validation.IsQualifiedName)...)
	}
	return errs
}

// ValidateCSINodeStatusUpdate checks the reported health of storage.
func ValidateCSINodeStatusUpdate(n, old *storagev1.CSINode) field.ErrorList {
	path := field.NewPath("status", "storageHealth")
	return join(
		metadataUpdate(&n.ObjectMeta, &old.ObjectMeta),
		each(path, n.Status.StorageHealth, storageHealth),
		distinct(path, n.Status.StorageHealth, "", func(h *storagev1.StorageHealth) string { return h.Name }),
	)
}

func storageHealth(path *field.Path, h *storagev1.StorageHealth) field.ErrorList {
	conditions := path.Child("healthConditions")
	return join(driverName(path.Child("name"), h.Name), atMost(conditions, len(h.HealthConditions), maxHealth),
		eachUpTo(conditions, h.HealthConditions, maxHealth, healthCondition))
}

func healthCondition(path *field.Path, c *storagev1.StorageHealthCondition) field.ErrorList {
	reason, message := path.Child("reason"), path.Child("message")
	errs := join(
		supported(path.Child("status"), c.Status, storagev1.StorageDegraded, storagev1.StorageUnreachable),
		requiredForm(reason, c.Reason, metav1validation.IsValidConditionReason),
		optionalSupported(path.Child("accessMode"), c.AccessMode, corev1.ReadOnlyMany, corev1.ReadWriteMany,
			corev1.ReadWriteOnce, corev1.ReadWriteOncePod),
		optionalSupported(path.Child("volumeMode"), c.VolumeMode, corev1.PersistentVolumeFilesystem,
			corev1.PersistentVolumeBlock),
	)
	if len(c.Reason) > maxHealthReason {
		errs = append(errs, field.TooLong(reason, c.Reason, maxHealthReason))
	}
	if len(c.Message) > maxHealthText {
		errs = append(errs, field.TooLong(message, c.Message, maxHealthText))
	}
	return errs
}
