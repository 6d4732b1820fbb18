package validation

import (
	storagev1 "k8s.io/api/storage/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ValidateCSIStorageCapacity checks a new CSIStorageCapacity.
func ValidateCSIStorageCapacity(c *storagev1.CSIStorageCapacity) field.ErrorList {
	return append(metadata(&c.ObjectMeta, namespaced, apivalidation.NameIsDNSSubdomain),
		storageCapacity(c, metav1validation.LabelSelectorValidationOptions{})...)
}

// ValidateCSIStorageCapacityUpdate checks a change of a CSIStorageCapacity. Only the amounts may
// change. A stored topology may have invalid label values.
func ValidateCSIStorageCapacityUpdate(c, old *storagev1.CSIStorageCapacity) field.ErrorList {
	var options metav1validation.LabelSelectorValidationOptions
	faults := metav1validation.ValidateLabelSelector(old.NodeTopology, options, nil)
	options.AllowInvalidLabelValueInSelector = len(faults) > 0
	return join(
		metadataAgain(&c.ObjectMeta, &old.ObjectMeta, apivalidation.NameIsDNSSubdomain),
		storageCapacity(c, options),
		immutableField(field.NewPath("nodeTopology"), c.NodeTopology, old.NodeTopology),
		immutableField(field.NewPath("storageClassName"), c.StorageClassName, old.StorageClassName),
	)
}

func storageCapacity(
	c *storagev1.CSIStorageCapacity, options metav1validation.LabelSelectorValidationOptions,
) field.ErrorList {
	return join(
		metav1validation.ValidateLabelSelector(c.NodeTopology, options, field.NewPath("nodeTopology")),
		wellFormed(field.NewPath("storageClassName"), c.StorageClassName, validation.IsDNS1123Subdomain),
		when(c.Capacity != nil, func() field.ErrorList {
			return nonNegativeQuantity(field.NewPath("capacity"), *c.Capacity)
		}),
	)
}

// CSIStorageCapacityWarnings returns warnings about deprecated labels of nodes.
func CSIStorageCapacityWarnings(c, _ *storagev1.CSIStorageCapacity) []string {
	return nodeSelectorWarnings(field.NewPath("nodeTopology"), c.NodeTopology)
}
