package validation

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ValidatePersistentVolumeClaim checks a new claim of a volume.
func ValidatePersistentVolumeClaim(c *corev1.PersistentVolumeClaim) field.ErrorList {
	return append(metadata(&c.ObjectMeta, namespaced, apivalidation.NameIsDNSSubdomain), volumeClaimSpec(field.NewPath("spec"), &c.Spec)...)
}

// ValidatePersistentVolumeClaimUpdate checks a change of a claim. Its spec stays, but for the name of the volume, which may
// be set once, as may the class, and for size and attributes of what is bound.
func ValidatePersistentVolumeClaimUpdate(c, old *corev1.PersistentVolumeClaim) field.ErrorList {
	path := field.NewPath("spec")
	now, before := c.Spec.DeepCopy(), old.Spec.DeepCopy()
	if before.VolumeName == "" {
		before.VolumeName = now.VolumeName
	}
	if before.StorageClassName == nil {
		before.StorageClassName = now.StorageClassName
	}
	bound := old.Status.Phase == corev1.ClaimBound
	if bound {
		before.VolumeAttributesClassName = now.VolumeAttributesClassName
		if size, ok := now.Resources.Requests[corev1.ResourceStorage]; ok && before.Resources.Requests != nil {
			before.Resources.Requests[corev1.ResourceStorage] = size
		}
	}
	errs := join(metadataUpdate(&c.ObjectMeta, &old.ObjectMeta), volumeClaimSpec(path, &c.Spec))
	if !equality.Semantic.DeepEqual(now, before) {
		errs = append(errs, field.Forbidden(path, immutable+", except `resources.requests` and `volumeAttributesClassName` of a bound claim"))
	}
	size, was := c.Spec.Resources.Requests[corev1.ResourceStorage], old.Spec.Resources.Requests[corev1.ResourceStorage]
	if has := old.Status.Capacity[corev1.ResourceStorage]; size.Cmp(was) < 0 && size.Cmp(has) <= 0 {
		errs = append(errs, field.Forbidden(path.Child("resources", "requests", "storage"), "may not be less than `status.capacity`"))
	}
	if bound && old.Spec.VolumeAttributesClassName != nil && c.Spec.VolumeAttributesClassName == nil {
		errs = append(errs, field.Forbidden(path.Child("volumeAttributesClassName"), "may not be removed"))
	}
	return errs
}

// ValidatePersistentVolumeClaimStatusUpdate checks what is reported of a claim.
func ValidatePersistentVolumeClaimStatusUpdate(c, old *corev1.PersistentVolumeClaim) field.ErrorList {
	path := field.NewPath("status")
	return join(
		metadataUpdate(&c.ObjectMeta, &old.ObjectMeta),
		resourceQuantities(path.Child("capacity"), c.Status.Capacity, nil),
		resourceQuantities(path.Child("allocatedResources"), c.Status.AllocatedResources, nil),
	)
}

func volumeClaimSpec(path *field.Path, spec *corev1.PersistentVolumeClaimSpec) field.ErrorList {
	errs := join(
		accessModes(path.Child("accessModes"), spec.AccessModes),
		labelSelector(path.Child("selector"), spec.Selector),
		claimedStorage(path.Child("resources").Key(string(corev1.ResourceStorage)), spec.Resources.Requests),
		optionalOneOf(path.Child("volumeMode"), spec.VolumeMode, corev1.PersistentVolumeBlock, corev1.PersistentVolumeFilesystem),
		dataSource(path.Child("dataSource"), spec.DataSource),
	)
	for _, class := range []struct {
		field string
		name  *string
	}{{"storageClassName", spec.StorageClassName}, {"volumeAttributesClassName", spec.VolumeAttributesClassName}} {
		if class.name != nil {
			errs = append(errs, optionalForm(path.Child(class.field), *class.name, validation.IsDNS1123Subdomain)...)
		}
	}
	return append(errs, dataSourceRef(path, spec)...)
}

func accessModes(path *field.Path, modes []corev1.PersistentVolumeAccessMode) field.ErrorList {
	if len(modes) == 0 {
		return one(field.Required(path, ""))
	}
	errs := each(path, modes, func(_ *field.Path, mode *corev1.PersistentVolumeAccessMode) field.ErrorList {
		return oneOf(path, *mode, corev1.ReadOnlyMany, corev1.ReadWriteMany, corev1.ReadWriteOnce, corev1.ReadWriteOncePod)
	})
	if len(modes) > 1 && slices.Contains(modes, corev1.ReadWriteOncePod) && len(slices.Compact(slices.Sorted(slices.Values(modes)))) > 1 {
		errs = append(errs, field.Forbidden(path, "ReadWriteOncePod may not be combined with other modes"))
	}
	return errs
}

func claimedStorage(path *field.Path, requests corev1.ResourceList) field.ErrorList {
	size, ok := requests[corev1.ResourceStorage]
	if !ok {
		return one(field.Required(path, ""))
	}
	return check(size.Sign() > 0, path, size.String(), positive)
}

func dataSource(path *field.Path, source *corev1.TypedLocalObjectReference) field.ErrorList {
	if source == nil {
		return nil
	}
	return sourceObject(path, source.APIGroup, source.Kind, source.Name)
}

func sourceObject(path *field.Path, group *string, kind, name string) field.ErrorList {
	errs := join(required(path.Child("name"), name), required(path.Child("kind"), kind))
	if group == nil || *group == "" {
		return append(errs, check(kind == "PersistentVolumeClaim", path, kind, "must be PersistentVolumeClaim where `apiGroup` is empty")...)
	}
	return append(errs, form(path.Child("apiGroup"), *group, validation.IsDNS1123Subdomain)...)
}

func dataSourceRef(path *field.Path, spec *corev1.PersistentVolumeClaimSpec) field.ErrorList {
	ref, source := spec.DataSourceRef, spec.DataSource
	if ref == nil {
		return nil
	}
	at := path.Child("dataSourceRef")
	errs := sourceObject(at, ref.APIGroup, ref.Kind, ref.Name)
	other := ref.Namespace != nil && *ref.Namespace != ""
	if other {
		errs = append(errs, form(at.Child("namespace"), *ref.Namespace, validation.IsDNS1123Label)...)
	}
	switch {
	case source == nil:
	case other:
		errs = append(errs, field.Invalid(path, path.Child("dataSource").String(), "may not be set where `dataSourceRef.namespace` is"))
	case !equality.Semantic.DeepEqual(source.APIGroup, ref.APIGroup) || source.Kind != ref.Kind || source.Name != ref.Name:
		errs = append(errs, field.Invalid(path, path.Child("dataSource").String(), "must be the same as `dataSourceRef`"))
	}
	return errs
}
