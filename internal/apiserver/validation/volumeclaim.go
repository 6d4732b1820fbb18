package validation

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// ValidatePersistentVolumeClaim checks a new PersistentVolumeClaim.
func ValidatePersistentVolumeClaim(c *corev1.PersistentVolumeClaim) field.ErrorList {
	return append(
		metadata(&c.ObjectMeta, namespaced, apivalidation.NameIsDNSSubdomain),
		volumeClaimSpec(field.NewPath("spec"), &c.Spec, nil)...)
}

// ValidatePersistentVolumeClaimUpdate checks a change of a PersistentVolumeClaim. The spec is
// immutable, except for the name of the volume and the class, which may be set once, and the size
// and attributes of a bound claim.
func ValidatePersistentVolumeClaimUpdate(c, old *corev1.PersistentVolumeClaim) field.ErrorList {
	path := field.NewPath("spec")
	return join(
		metadataUpdate(&c.ObjectMeta, &old.ObjectMeta),
		volumeClaimSpec(path, &c.Spec, &old.Spec),
		classAnnotationUpdate(c, old),
		volumeClaimSpecUpdate(path, c, old),
		claimedStorageUpdate(path.Child("resources", "requests", "storage"), c, old),
		immutableField(field.NewPath("volumeMode"), c.Spec.VolumeMode, old.Spec.VolumeMode),
		attributesClassUpdate(path.Child("volumeAttributesClassName"), c, old),
	)
}

// setsClass reports whether the update sets the class of a claim that has none, or only has it as
// an annotation.
func setsClass(c, old *corev1.PersistentVolumeClaim) bool {
	was, annotated := old.Annotations[corev1.BetaStorageClassAnnotation]
	return old.Spec.StorageClassName == nil && c.Spec.StorageClassName != nil &&
		(!annotated || *c.Spec.StorageClassName == was)
}

// classAnnotationUpdate checks that the annotation of the class is unchanged, or has become the
// field.
func classAnnotationUpdate(c, old *corev1.PersistentVolumeClaim) field.ErrorList {
	was, annotated := old.Annotations[corev1.BetaStorageClassAnnotation]
	is := c.Annotations[corev1.BetaStorageClassAnnotation]
	if is == was || is == "" && annotated && setsClass(c, old) {
		return nil
	}
	return errorList(
		field.Invalid(field.NewPath("metadata", "annotations").Key(corev1.BetaStorageClassAnnotation), is, immutable),
	)
}

// volumeClaimSpecUpdate checks that only mutable fields have changed.
func volumeClaimSpecUpdate(path *field.Path, c, old *corev1.PersistentVolumeClaim) field.ErrorList {
	now, before := c.Spec.DeepCopy(), old.Spec.DeepCopy()
	if before.VolumeName == "" {
		before.VolumeName = now.VolumeName
	}
	if setsClass(c, old) {
		before.StorageClassName = now.StorageClassName
	}
	if old.Status.Phase == corev1.ClaimBound {
		before.VolumeAttributesClassName = now.VolumeAttributesClassName
		if now.Resources.Requests != nil {
			now.Resources.Requests[corev1.ResourceStorage] = old.Spec.Resources.Requests[corev1.ResourceStorage]
		}
	}
	if equality.Semantic.DeepEqual(now, before) {
		return nil
	}
	return errorList(field.Forbidden(path,
		immutable+", except `resources.requests` and `volumeAttributesClassName` of a bound claim"))
}

// claimedStorageUpdate checks that a claim shrinks no further than to more than its volume has.
func claimedStorageUpdate(path *field.Path, c, old *corev1.PersistentVolumeClaim) field.ErrorList {
	size, before := c.Spec.Resources.Requests[corev1.ResourceStorage], old.Spec.Resources.Requests[corev1.ResourceStorage]
	if has := old.Status.Capacity[corev1.ResourceStorage]; size.Cmp(before) < 0 && size.Cmp(has) <= 0 {
		return errorList(field.Forbidden(path, "may not be less than `status.capacity`"))
	}
	return nil
}

// attributesClassUpdate checks that a claim whose volume has attributes of a class keeps a class.
func attributesClassUpdate(path *field.Path, c, old *corev1.PersistentVolumeClaim) field.ErrorList {
	if old.Status.CurrentVolumeAttributesClassName != nil && ptr.Deref(c.Spec.VolumeAttributesClassName, "") == "" &&
		!equality.Semantic.DeepEqual(c.Spec.VolumeAttributesClassName, old.Spec.VolumeAttributesClassName) {
		return errorList(field.Forbidden(path, "may not be removed"))
	}
	return nil
}

// ValidatePersistentVolumeClaimStatusUpdate checks the reported status of a PersistentVolumeClaim.
func ValidatePersistentVolumeClaimStatusUpdate(c, old *corev1.PersistentVolumeClaim) field.ErrorList {
	path := field.NewPath("status")
	errs := metadataUpdate(&c.ObjectMeta, &old.ObjectMeta)
	for _, name := range sortedNames(c.Status.Capacity) {
		errs = append(errs, nonNegativeQuantity(path.Child("capacity").Key(string(name)), c.Status.Capacity[name])...)
	}
	for name, status := range c.Status.AllocatedResourceStatuses {
		at := path.Child("allocatedResourceStatuses")
		errs = append(errs, join(claimResource(at, name), supported(at, status,
			corev1.PersistentVolumeClaimControllerResizeInProgress, corev1.PersistentVolumeClaimControllerResizeInfeasible,
			corev1.PersistentVolumeClaimNodeResizePending, corev1.PersistentVolumeClaimNodeResizeInProgress,
			corev1.PersistentVolumeClaimNodeResizeInfeasible))...)
	}
	for _, name := range sortedNames(c.Status.AllocatedResources) {
		at := path.Child("allocatedResources")
		faults := claimResource(at, name)
		if len(faults) == 0 {
			faults = nonNegativeQuantity(at.Key(string(name)), c.Status.AllocatedResources[name])
		}
		errs = append(errs, faults...)
	}
	return errs
}

// claimResource checks the name of a resource that a PersistentVolumeClaim can request: storage, or
// a name with a domain.
func claimResource(at *field.Path, name corev1.ResourceName) field.ErrorList {
	errs := wellFormed(at, string(name), validation.IsQualifiedName)
	if len(errs) == 0 && isNative(name) {
		errs = supported(at, name, corev1.ResourceStorage)
	}
	return errs
}

// volumeClaimSpec checks what a claim asks for; old is nil for a new one. API groups of sources are
// not checked where there was one: they were not in older releases.
func volumeClaimSpec(path *field.Path, spec, old *corev1.PersistentVolumeClaimSpec) field.ErrorList {
	group := validation.IsDNS1123Subdomain
	if old != nil &&
		(old.DataSource != nil && old.DataSource.APIGroup != nil || old.DataSourceRef != nil &&
			old.DataSourceRef.APIGroup != nil) {
		group = func(string) []string { return nil }
	}
	errs := join(
		accessModes(path.Child("accessModes"), spec.AccessModes),
		labelSelector(path.Child("selector"), spec.Selector),
		claimedStorage(path.Child("resources").Key(string(corev1.ResourceStorage)), spec.Resources.Requests),
		optionalSupported(path.Child("volumeMode"), spec.VolumeMode, corev1.PersistentVolumeBlock,
			corev1.PersistentVolumeFilesystem),
		dataSource(path.Child("dataSource"), spec.DataSource, group),
	)
	for _, class := range []struct {
		field string
		name  *string
	}{{"storageClassName", spec.StorageClassName}, {"volumeAttributesClassName", spec.VolumeAttributesClassName}} {
		if class.name != nil {
			errs = append(errs, optionalForm(path.Child(class.field), *class.name, validation.IsDNS1123Subdomain)...)
		}
	}
	return append(errs, dataSourceRef(path, spec, group)...)
}

func accessModes(path *field.Path, modes []corev1.PersistentVolumeAccessMode) field.ErrorList {
	if len(modes) == 0 {
		return errorList(field.Required(path, ""))
	}
	shared := []corev1.PersistentVolumeAccessMode{corev1.ReadOnlyMany, corev1.ReadWriteMany, corev1.ReadWriteOnce}
	errs := each(path, modes, func(_ *field.Path, mode *corev1.PersistentVolumeAccessMode) field.ErrorList {
		return supported(path, *mode, append(shared, corev1.ReadWriteOncePod)...)
	})
	isShared := func(mode corev1.PersistentVolumeAccessMode) bool { return slices.Contains(shared, mode) }
	if slices.Contains(modes, corev1.ReadWriteOncePod) && slices.ContainsFunc(modes, isShared) {
		errs = append(errs, field.Forbidden(path, "ReadWriteOncePod may not be combined with other modes"))
	}
	return errs
}

func claimedStorage(path *field.Path, requests corev1.ResourceList) field.ErrorList {
	size, ok := requests[corev1.ResourceStorage]
	if !ok {
		return errorList(field.Required(path, ""))
	}
	return check(size.Sign() > 0, path, size.String(), positive)
}

func dataSource(
	path *field.Path, source *corev1.TypedLocalObjectReference, group func(string) []string,
) field.ErrorList {
	if source == nil {
		return nil
	}
	return sourceObject(path, source.APIGroup, source.Kind, source.Name, group)
}

func sourceObject(path *field.Path, group *string, kind, name string, rule func(string) []string) field.ErrorList {
	errs := join(required(path.Child("name"), name), required(path.Child("kind"), kind))
	if group == nil || *group == "" {
		return append(
			errs,
			check(kind == "PersistentVolumeClaim", path, kind, "must be PersistentVolumeClaim where `apiGroup` is empty")...)
	}
	return append(errs, requiredForm(path.Child("apiGroup"), *group, rule)...)
}

func dataSourceRef(
	path *field.Path, spec *corev1.PersistentVolumeClaimSpec, group func(string) []string,
) field.ErrorList {
	ref, source := spec.DataSourceRef, spec.DataSource
	if ref == nil {
		return nil
	}
	at := path.Child("dataSourceRef")
	errs := sourceObject(at, ref.APIGroup, ref.Kind, ref.Name, group)
	other := ref.Namespace != nil && *ref.Namespace != ""
	if other {
		errs = append(errs, requiredForm(at.Child("namespace"), *ref.Namespace, validation.IsDNS1123Label)...)
	}
	switch {
	case source == nil:
	case other:
		errs = append(errs,
			field.Invalid(path, path.Child("dataSource").String(), "may not be set where `dataSourceRef.namespace` is"))
	case !equality.Semantic.DeepEqual(source.APIGroup, ref.APIGroup) || source.Kind != ref.Kind || source.Name != ref.Name:
		errs = append(errs, field.Invalid(path, path.Child("dataSource").String(), "must be the same as `dataSourceRef`"))
	}
	return errs
}
