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
	return append(metadata(&v.ObjectMeta, clusterScoped, apivalidation.NameIsDNSSubdomain),
		persistentVolumeSpec(field.NewPath("spec"), &v.Spec, v.Name)...)
}

// ValidatePersistentVolumeUpdate checks a change of a volume. The source is immutable.
func ValidatePersistentVolumeUpdate(v, old *corev1.PersistentVolume) field.ErrorList {
	spec := field.NewPath("spec")
	now, before := v.Spec.PersistentVolumeSource.DeepCopy(), &old.Spec.PersistentVolumeSource
	if now.CSI != nil && before.CSI != nil && before.CSI.ControllerExpandSecretRef == nil {
		now.CSI.ControllerExpandSecretRef = nil
	}
	errs := join(metadataAgain(&v.ObjectMeta, &old.ObjectMeta, apivalidation.NameIsDNSSubdomain),
		persistentVolumeSpec(spec, &v.Spec, v.Name))
	if !equality.Semantic.DeepEqual(now, before) {
		errs = append(errs, field.Forbidden(spec.Child("persistentvolumesource"), immutable))
	}
	if !equality.Semantic.DeepEqual(v.Spec.VolumeMode, old.Spec.VolumeMode) {
		errs = append(errs, field.Invalid(field.NewPath("volumeMode"), v.Spec.VolumeMode, immutable))
	}
	if old.Spec.NodeAffinity != nil &&
		!equality.Semantic.DeepEqual(v.Spec.NodeAffinity, stableLabels(v.Spec.NodeAffinity, old.Spec.NodeAffinity)) {
		errs = append(errs, field.Invalid(field.NewPath("nodeAffinity"), field.OmitValueType{}, immutable))
	}
	if old.Spec.VolumeAttributesClassName != nil && v.Spec.VolumeAttributesClassName == nil {
		errs = append(errs, field.Forbidden(spec.Child("volumeAttributesClassName"), "may not be removed"))
	}
	return errs
}

// stableLabels returns the old affinity with deprecated label names replaced by current ones where
// the new affinity has these.
func stableLabels(now, old *corev1.VolumeNodeAffinity) *corev1.VolumeNodeAffinity {
	renamed := map[string]string{
		corev1.LabelFailureDomainBetaZone:   corev1.LabelTopologyZone,
		corev1.LabelFailureDomainBetaRegion: corev1.LabelTopologyRegion,
		corev1.LabelInstanceType:            corev1.LabelInstanceTypeStable,
		"beta.kubernetes.io/os":             corev1.LabelOSStable,
		"beta.kubernetes.io/arch":           corev1.LabelArchStable,
	}
	out := old.DeepCopy()
	if now == nil || now.Required == nil || out.Required == nil {
		return out
	}
	for i := range out.Required.NodeSelectorTerms {
		if i >= len(now.Required.NodeSelectorTerms) {
			break
		}
		term := now.Required.NodeSelectorTerms[i]
		for j := range out.Required.NodeSelectorTerms[i].MatchExpressions {
			if r := &out.Required.NodeSelectorTerms[i].MatchExpressions[j]; j < len(term.MatchExpressions) &&
				term.MatchExpressions[j].Key == renamed[r.Key] {
				r.Key = renamed[r.Key]
			}
		}
	}
	return out
}

// ValidatePersistentVolumeStatusUpdate checks the reported status of a volume.
func ValidatePersistentVolumeStatusUpdate(v, old *corev1.PersistentVolume) field.ErrorList {
	return metadataUpdate(&v.ObjectMeta, &old.ObjectMeta)
}

func persistentVolumeSpec(at *field.Path, spec *corev1.PersistentVolumeSpec, name string) field.ErrorList {
	reclaim := at.Child("persistentVolumeReclaimPolicy")
	errs := join(
		accessModes(at.Child("accessModes"), spec.AccessModes),
		volumeCapacity(at.Child("capacity"), spec.Capacity),
		when(spec.PersistentVolumeReclaimPolicy != "", func() field.ErrorList {
			return supported(reclaim, spec.PersistentVolumeReclaimPolicy,
				corev1.PersistentVolumeReclaimDelete, corev1.PersistentVolumeReclaimRecycle, corev1.PersistentVolumeReclaimRetain)
		}),
		optionalForm(at.Child("storageClassName"), spec.StorageClassName, validation.IsDNS1123Subdomain),
		optionalSupported(at.Child("volumeMode"), spec.VolumeMode, corev1.PersistentVolumeBlock,
			corev1.PersistentVolumeFilesystem),
		volumeNodeAffinity(at.Child("nodeAffinity"), spec.NodeAffinity),
		onlyOneSource(at, persistentSources(spec, name)),
	)
	if s := spec.HostPath; s != nil && path.Clean(s.Path) == "/" &&
		spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRecycle {
		errs = append(errs, field.Forbidden(reclaim, "may not be Recycle for the path /"))
	}
	if class := spec.VolumeAttributesClassName; class != nil {
		errs = append(errs, requiredForm(at.Child("volumeAttributesClassName"), *class, validation.IsDNS1123Subdomain)...)
		if spec.CSI == nil {
			errs = append(errs, field.Required(at.Child("csi"), "needed with `volumeAttributesClassName`"))
		}
	}
	return errs
}

func volumeCapacity(at *field.Path, capacity corev1.ResourceList) field.ErrorList {
	var errs field.ErrorList
	if len(capacity) == 0 {
		errs = append(errs, field.Required(at, ""))
	}
	if _, ok := capacity[corev1.ResourceStorage]; !ok || len(capacity) > 1 {
		errs = append(errs, field.NotSupported(at, "", []corev1.ResourceName{corev1.ResourceStorage}))
	}
	for _, name := range sortedNames(capacity) {
		size := capacity[name]
		errs = append(errs, check(size.Sign() > 0, at.Key(string(name)), size.String(), positive)...)
	}
	return errs
}

func volumeNodeAffinity(at *field.Path, a *corev1.VolumeNodeAffinity) field.ErrorList {
	if a == nil {
		return nil
	}
	if a.Required == nil {
		return errorList(field.Required(at.Child("required"), ""))
	}
	return nodeSelector(at.Child("required"), a.Required)
}

// persistentSources returns the sources of a volume. Those that are also volumes of pods have the
// same rules.
func persistentSources(spec *corev1.PersistentVolumeSpec, name string) []source {
	v := &spec.PersistentVolumeSource
	flex := sourceOf(
		"flexVolume",
		v.FlexVolume,
		func(at *field.Path, s *corev1.FlexPersistentVolumeSource) field.ErrorList {
			return flexVolume(at, s.Driver, s.Options)
		},
	)
	flex.additional = true
	return []source{
		sourceOf("hostPath", v.HostPath, hostPath),
		sourceOf("gcePersistentDisk", v.GCEPersistentDisk, gceDisk),
		sourceOf("awsElasticBlockStore", v.AWSElasticBlockStore, awsDisk),
		sourceOf("glusterfs", v.Glusterfs, persistentGluster),
		sourceOf("flocker", v.Flocker, flocker),
		sourceOf("nfs", v.NFS, nfs),
		sourceOf("rbd", v.RBD, func(at *field.Path, s *corev1.RBDPersistentVolumeSource) field.ErrorList {
			return rbd(at, s.CephMonitors, s.RBDImage)
		}),
		sourceOf("quobyte", v.Quobyte, quobyte),
		sourceOf("cephfs", v.CephFS, func(at *field.Path, s *corev1.CephFSPersistentVolumeSource) field.ErrorList {
			return monitors(at, s.Monitors)
		}),
		sourceOf("iscsi", v.ISCSI, func(at *field.Path, s *corev1.ISCSIPersistentVolumeSource) field.ErrorList {
			return persistentISCSI(at, s, name)
		}),
		sourceOf("cinder", v.Cinder, func(at *field.Path, s *corev1.CinderPersistentVolumeSource) field.ErrorList {
			errs := required(at.Child("volumeID"), s.VolumeID)
			if s.SecretRef == nil {
				return errs
			}
			return join(errs, required(at.Child("secretRef", "name"), s.SecretRef.Name),
				required(at.Child("secretRef", "namespace"), s.SecretRef.Namespace))
		}),
		sourceOf("fc", v.FC, fibreChannel),
		flex,
		sourceOf("azureFile", v.AzureFile, func(at *field.Path, s *corev1.AzureFilePersistentVolumeSource) field.ErrorList {
			return join(required(at.Child("secretName"), s.SecretName), required(at.Child("shareName"), s.ShareName),
				azureFileNamespace(at, s.SecretNamespace))
		}),
		sourceOf("vsphereVolume", v.VsphereVolume, vsphere),
		sourceOf("photonPersistentDisk", v.PhotonPersistentDisk, photon),
		sourceOf("portworxVolume", v.PortworxVolume, portworx),
		sourceOf("azureDisk", v.AzureDisk, azureDisk),
		sourceOf("scaleIO", v.ScaleIO, func(at *field.Path, s *corev1.ScaleIOPersistentVolumeSource) field.ErrorList {
			return scaleIO(at, s.Gateway, s.System, s.VolumeName)
		}),
		{name: "local", set: v.Local != nil, check: func(at *field.Path) field.ErrorList { return localVolume(at, spec) }},
		sourceOf("storageos", v.StorageOS, func(at *field.Path, s *corev1.StorageOSPersistentVolumeSource) field.ErrorList {
			errs := storageOS(at, s.VolumeName, s.VolumeNamespace)
			if s.SecretRef == nil {
				return errs
			}
			return join(errs, required(at.Child("secretRef", "name"), s.SecretRef.Name),
				required(at.Child("secretRef", "namespace"), s.SecretRef.Namespace))
		}),
		sourceOf("csi", v.CSI, persistentCSI),
	}
}

func localVolume(at *field.Path, spec *corev1.PersistentVolumeSpec) field.ErrorList {
	errs := append(
		required(at.Child("local", "path"), spec.Local.Path),
		noBacksteps(at.Child("local", "path"), spec.Local.Path)...)
	if spec.NodeAffinity == nil {
		errs = append(errs, field.Required(at.Child("nodeAffinity"), "needed with `local`"))
	}
	return errs
}

func persistentGluster(at *field.Path, s *corev1.GlusterfsPersistentVolumeSource) field.ErrorList {
	return join(
		required(at.Child("endpoints"), s.EndpointsName),
		required(at.Child("path"), s.Path),
		pointerForm(at.Child("endpointsNamespace"), s.EndpointsNamespace, validation.IsDNS1123Label),
	)
}

func persistentISCSI(at *field.Path, s *corev1.ISCSIPersistentVolumeSource, name string) field.ErrorList {
	errs := iscsiTarget(at, s.TargetPortal, s.IQN, s.Lun, s.InitiatorName,
		(s.DiscoveryCHAPAuth || s.SessionCHAPAuth) && s.SecretRef == nil)
	if s.SecretRef != nil {
		errs = append(errs, required(at.Child("secretRef", "name"), s.SecretRef.Name)...)
	}
	return append(
		errs,
		check(s.InitiatorName == nil || len(name+":"+s.TargetPortal) <= 64, at.Child("targetPortal"), s.TargetPortal,
			"must have at most 64 characters together with the name of the volume")...)
}

func persistentCSI(at *field.Path, s *corev1.CSIPersistentVolumeSource) field.ErrorList {
	return join(
		driverName(at.Child("driver"), s.Driver),
		required(at.Child("volumeHandle"), s.VolumeHandle),
		secretReference(at.Child("controllerPublishSecretRef"), s.ControllerPublishSecretRef),
		secretReference(at.Child("controllerExpandSecretRef"), s.ControllerExpandSecretRef),
		secretReference(at.Child("nodePublishSecretRef"), s.NodePublishSecretRef),
		secretReference(at.Child("nodeExpandSecretRef"), s.NodeExpandSecretRef),
	)
}
