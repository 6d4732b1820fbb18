package validation

import (
	"path"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ValidatePersistentVolume checks a new volume.
func ValidatePersistentVolume(v *corev1.PersistentVolume) field.ErrorList {
	return append(metadata(&v.ObjectMeta, clusterScoped, apivalidation.NameIsDNSSubdomain), persistentVolumeSpec(field.NewPath("spec"), &v.Spec)...)
}

// ValidatePersistentVolumeUpdate checks a change of a volume. Where its data are stays.
func ValidatePersistentVolumeUpdate(v, old *corev1.PersistentVolume) field.ErrorList {
	spec := field.NewPath("spec")
	now, before := v.Spec.PersistentVolumeSource.DeepCopy(), &old.Spec.PersistentVolumeSource
	if now.CSI != nil && before.CSI != nil && before.CSI.ControllerExpandSecretRef == nil {
		now.CSI.ControllerExpandSecretRef = nil
	}
	errs := join(metadataUpdate(&v.ObjectMeta, &old.ObjectMeta), persistentVolumeSpec(spec, &v.Spec))
	if !equality.Semantic.DeepEqual(now, before) {
		errs = append(errs, field.Forbidden(spec.Child("persistentvolumesource"), immutable))
	}
	if !equality.Semantic.DeepEqual(v.Spec.VolumeMode, old.Spec.VolumeMode) {
		errs = append(errs, field.Invalid(field.NewPath("volumeMode"), v.Spec.VolumeMode, immutable))
	}
	if old.Spec.NodeAffinity != nil && !equality.Semantic.DeepEqual(v.Spec.NodeAffinity, old.Spec.NodeAffinity) {
		errs = append(errs, field.Invalid(field.NewPath("nodeAffinity"), field.OmitValueType{}, immutable))
	}
	if old.Spec.VolumeAttributesClassName != nil && v.Spec.VolumeAttributesClassName == nil {
		errs = append(errs, field.Forbidden(spec.Child("volumeAttributesClassName"), "may not be removed"))
	}
	return errs
}

// ValidatePersistentVolumeStatusUpdate checks what is reported of a volume.
func ValidatePersistentVolumeStatusUpdate(v, old *corev1.PersistentVolume) field.ErrorList {
	return metadataUpdate(&v.ObjectMeta, &old.ObjectMeta)
}

func persistentVolumeSpec(at *field.Path, spec *corev1.PersistentVolumeSpec) field.ErrorList {
	errs := join(
		accessModes(at.Child("accessModes"), spec.AccessModes),
		volumeCapacity(at.Child("capacity"), spec.Capacity),
		oneOf(at.Child("persistentVolumeReclaimPolicy"), spec.PersistentVolumeReclaimPolicy,
			corev1.PersistentVolumeReclaimDelete, corev1.PersistentVolumeReclaimRecycle, corev1.PersistentVolumeReclaimRetain),
		optionalForm(at.Child("storageClassName"), spec.StorageClassName, validation.IsDNS1123Subdomain),
		optionalOneOf(at.Child("volumeMode"), spec.VolumeMode, corev1.PersistentVolumeBlock, corev1.PersistentVolumeFilesystem),
		volumeNodeAffinity(at.Child("nodeAffinity"), spec.NodeAffinity),
		exactlyOne(at, persistentSources(&spec.PersistentVolumeSource)...),
		persistentSource(at, spec),
	)
	if class := spec.VolumeAttributesClassName; class != nil {
		errs = append(errs, form(at.Child("volumeAttributesClassName"), *class, validation.IsDNS1123Subdomain)...)
		if spec.CSI == nil {
			errs = append(errs, field.Required(at.Child("csi"), "needed with `volumeAttributesClassName`"))
		}
	}
	return errs
}

func volumeCapacity(at *field.Path, capacity corev1.ResourceList) field.ErrorList {
	if len(capacity) == 0 {
		return one(field.Required(at, ""))
	}
	var errs field.ErrorList
	for _, name := range sortedNames(capacity) {
		size := capacity[name]
		if name != corev1.ResourceStorage {
			errs = append(errs, field.NotSupported(at, name, []corev1.ResourceName{corev1.ResourceStorage}))
		}
		errs = append(errs, check(size.Sign() > 0, at.Key(string(name)), size.String(), positive)...)
	}
	return errs
}

func volumeNodeAffinity(at *field.Path, a *corev1.VolumeNodeAffinity) field.ErrorList {
	if a == nil {
		return nil
	}
	if a.Required == nil {
		return one(field.Required(at.Child("required"), ""))
	}
	return nodeSelector(at.Child("required"), a.Required)
}

// persistentSources lists the fields of a volume's source.
func persistentSources(source *corev1.PersistentVolumeSource) []member {
	return pointers(source, "csi", "hostPath", "local", "nfs")
}

func persistentSource(at *field.Path, spec *corev1.PersistentVolumeSpec) field.ErrorList {
	var errs field.ErrorList
	if s := spec.HostPath; s != nil {
		errs = append(errs, hostPath(at.Child("hostPath"), s)...)
		if path.Clean(s.Path) == "/" && spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRecycle {
			errs = append(errs, field.Forbidden(at.Child("persistentVolumeReclaimPolicy"), "may not be Recycle for the path /"))
		}
	}
	if s := spec.Local; s != nil {
		errs = append(errs, required(at.Child("local", "path"), s.Path)...)
		errs = append(errs, noBacksteps(at.Child("local", "path"), s.Path)...)
		if spec.NodeAffinity == nil || spec.NodeAffinity.Required == nil {
			errs = append(errs, field.Required(at.Child("nodeAffinity"), "needed with `local`"))
		}
	}
	if s := spec.NFS; s != nil {
		errs = append(errs, nfs(at.Child("nfs"), s)...)
	}
	if s := spec.CSI; s != nil {
		errs = append(errs, driverName(at.Child("csi", "driver"), s.Driver)...)
		errs = append(errs, required(at.Child("csi", "volumeHandle"), s.VolumeHandle)...)
	}
	return errs
}
