package validation

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	maxAttachmentMetadata = 256 << 10
	maxVolumeErrorMessage = 1024
)

// ValidateVolumeAttachment checks a new VolumeAttachment.
func ValidateVolumeAttachment(a *storagev1.VolumeAttachment) field.ErrorList {
	return append(metadata(&a.ObjectMeta, clusterScoped, apivalidation.NameIsDNSSubdomain), volumeAttachment(a)...)
}

// ValidateVolumeAttachmentUpdate checks a change of a VolumeAttachment or of its status. The spec
// is immutable.
func ValidateVolumeAttachmentUpdate(a, old *storagev1.VolumeAttachment) field.ErrorList {
	return join(
		metadataAgain(&a.ObjectMeta, &old.ObjectMeta, apivalidation.NameIsDNSSubdomain),
		volumeAttachment(a),
		immutableField(field.NewPath("spec"), a.Spec, old.Spec),
	)
}

func volumeAttachment(a *storagev1.VolumeAttachment) field.ErrorList {
	spec, status := field.NewPath("spec"), field.NewPath("status")
	return join(
		driverName(spec.Child("attacher"), a.Spec.Attacher),
		attachedVolume(spec.Child("source"), &a.Spec.Source),
		wellFormed(spec.Child("nodeName"), a.Spec.NodeName, isSubdomain),
		textsWithin(status.Child("attachmentMetadata"), a.Status.AttachmentMetadata, maxAttachmentMetadata),
		volumeError(status.Child("attachError"), a.Status.AttachError),
		volumeError(status.Child("detachError"), a.Status.DetachError),
	)
}

func attachedVolume(path *field.Path, s *storagev1.VolumeAttachmentSource) field.ErrorList {
	const message = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
	name, inline := path.Child("persistentVolumeName"), path.Child("inlineVolumeSpec")
	switch {
	case s.InlineVolumeSpec == nil && s.PersistentVolumeName == nil:
		return errorList(field.Required(path, message))
	case s.PersistentVolumeName == nil:
		return inlineVolume(inline, s.InlineVolumeSpec)
	}
	errs := wellFormed(name, *s.PersistentVolumeName, isSubdomain)
	switch {
	case s.InlineVolumeSpec != nil:
		errs = append(errs, field.Forbidden(path, message))
	case *s.PersistentVolumeName == "":
		errs = append(errs, field.Required(name, "must specify non empty persistentVolumeName"))
	}
	return errs
}

// inlineVolume checks a volume of a CSI driver that is part of a pod.
func inlineVolume(path *field.Path, spec *corev1.PersistentVolumeSpec) field.ErrorList {
	const inline = "may not be specified in the context of inline volumes"
	forbidden := func(name string, set bool, message string) field.ErrorList {
		return when(set, func() field.ErrorList { return errorList(field.Forbidden(path.Child(name), message)) })
	}
	reclaim, mode := spec.PersistentVolumeReclaimPolicy, spec.VolumeMode
	errs := join(
		accessModes(path.Child("accessModes"), spec.AccessModes),
		onlyOneSource(path, persistentSources(spec, "")),
		forbidden("claimRef", spec.ClaimRef != nil, inline),
		forbidden("capacity", len(spec.Capacity) > 0, inline),
		forbidden("nodeAffinity", spec.NodeAffinity != nil, inline),
		forbidden("storageClassName", spec.StorageClassName != "", inline),
		forbidden("persistentVolumeReclaimPolicy", reclaim != "" && reclaim != corev1.PersistentVolumeReclaimRetain,
			"may only be Retain in the context of inline volumes"),
		forbidden("volumeMode", mode != nil && *mode != corev1.PersistentVolumeFilesystem,
			"may not specify volumeMode other than Filesystem in the context of inline volumes"),
	)
	if spec.CSI == nil {
		errs = append(errs, field.Required(path.Child("csi"), "has to be specified in the context of inline volumes"))
	}
	return errs
}

func volumeError(path *field.Path, e *storagev1.VolumeError) field.ErrorList {
	if e == nil {
		return nil
	}
	var errs field.ErrorList
	if len(e.Message) > maxVolumeErrorMessage {
		errs = append(errs, field.TooLong(path.Child("message"), "", maxVolumeErrorMessage))
	}
	if code := e.ErrorCode; code != nil {
		errs = append(errs, check(*code >= 0, path.Child("errorCode"), *code,
			validation.InclusiveRangeError(0, math.MaxInt32))...)
	}
	return errs
}
