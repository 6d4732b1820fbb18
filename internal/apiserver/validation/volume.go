package validation

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// volumes checks the volumes of a pod, and returns the valid ones by name: containers cannot mount
// others. The metadata is nil for a pod template.
func volumes(
	at *field.Path, list []corev1.Volume, pod *metav1.ObjectMeta,
) (map[string]*corev1.Volume, field.ErrorList) {
	valid := make(map[string]*corev1.Volume, len(list))
	var errs field.ErrorList
	for i := range list {
		v, path := &list[i], at.Index(i)
		faults := join(
			dnsLabel(path.Child("name"), v.Name),
			onlyOneSource(path, volumeSources(&v.VolumeSource)),
			ownClaim(path.Child("name"), v, pod),
			initiatorName(path.Child("name"), v.ISCSI, v.Name),
		)
		if _, ok := valid[v.Name]; ok {
			faults = append(faults, field.Duplicate(path.Child("name"), v.Name))
		}
		if len(faults) == 0 {
			valid[v.Name] = v
		}
		errs = append(errs, faults...)
		errs = append(errs, foreignClaim(path, v, list, pod)...)
	}
	return valid, errs
}

// ownClaim checks the name of the claim created for an ephemeral volume.
func ownClaim(at *field.Path, v *corev1.Volume, pod *metav1.ObjectMeta) field.ErrorList {
	if v.Ephemeral == nil || v.Name == "" || pod == nil || pod.Name == "" {
		return nil
	}
	var errs field.ErrorList
	for _, message := range apivalidation.NameIsDNSSubdomain(pod.Name+"-"+v.Name, false) {
		errs = append(errs, field.Invalid(at, v.Name, "the claim would be named "+pod.Name+"-"+v.Name+": "+message))
	}
	return errs
}

// foreignClaim rejects a volume that refers to the claim of an ephemeral volume of the same pod.
func foreignClaim(at *field.Path, v *corev1.Volume, list []corev1.Volume, pod *metav1.ObjectMeta) field.ErrorList {
	if v.PersistentVolumeClaim == nil || pod == nil || pod.Name == "" {
		return nil
	}
	made := slices.ContainsFunc(list, func(other corev1.Volume) bool {
		return other.Ephemeral != nil && pod.Name+"-"+other.Name == v.PersistentVolumeClaim.ClaimName
	})
	return check(!made, at.Child("persistentVolumeClaim", "claimName"), v.PersistentVolumeClaim.ClaimName,
		"is the claim of an ephemeral volume of this pod")
}

// source is one field of a union of pointers.
type source struct {
	name  string
	set   bool
	check func(at *field.Path) field.ErrorList
	// additional reports whether Kubernetes accepts the source in addition to another.
	additional bool
}

func sourceOf[T any](name string, s *T, rule func(*field.Path, *T) field.ErrorList) source {
	return source{
		name:  name,
		set:   s != nil,
		check: func(at *field.Path) field.ErrorList { return rule(at.Child(name), s) },
	}
}

// onlyOneSource checks the first source that is set, and rejects the others.
func onlyOneSource(at *field.Path, sources []source) field.ErrorList {
	var errs field.ErrorList
	found := false
	for _, s := range sources {
		switch {
		case !s.set:
		case found && !s.additional:
			errs = append(errs, field.Forbidden(at.Child(s.name), "only one of the alternatives may be set"))
		default:
			found = true
			errs = append(errs, s.check(at)...)
		}
	}
	if !found {
		names := make([]string, len(sources))
		for i, s := range sources {
			names[i] = "`" + s.name + "`"
		}
		errs = append(errs, field.Required(at, "one of "+strings.Join(names, ", ")+" must be set"))
	}
	return errs
}

func volumeSources(v *corev1.VolumeSource) []source {
	return []source{
		sourceOf("emptyDir", v.EmptyDir, emptyDir),
		sourceOf("hostPath", v.HostPath, hostPath),
		sourceOf("gitRepo", v.GitRepo, gitRepo),
		sourceOf("gcePersistentDisk", v.GCEPersistentDisk, gceDisk),
		sourceOf("awsElasticBlockStore", v.AWSElasticBlockStore, awsDisk),
		sourceOf("secret", v.Secret, func(at *field.Path, s *corev1.SecretVolumeSource) field.ErrorList {
			return join(required(at.Child("secretName"), s.SecretName), files(at, s.DefaultMode, s.Items))
		}),
		sourceOf("nfs", v.NFS, nfs),
		sourceOf("iscsi", v.ISCSI, iscsi),
		sourceOf("glusterfs", v.Glusterfs, func(at *field.Path, s *corev1.GlusterfsVolumeSource) field.ErrorList {
			return join(required(at.Child("endpoints"), s.EndpointsName), required(at.Child("path"), s.Path))
		}),
		sourceOf("flocker", v.Flocker, flocker),
		sourceOf(
			"persistentVolumeClaim",
			v.PersistentVolumeClaim,
			func(at *field.Path, s *corev1.PersistentVolumeClaimVolumeSource) field.ErrorList {
				return required(at.Child("claimName"), s.ClaimName)
			},
		),
		sourceOf("rbd", v.RBD, func(at *field.Path, s *corev1.RBDVolumeSource) field.ErrorList {
			return rbd(at, s.CephMonitors, s.RBDImage)
		}),
		sourceOf("cinder", v.Cinder, func(at *field.Path, s *corev1.CinderVolumeSource) field.ErrorList {
			return join(required(at.Child("volumeID"), s.VolumeID), secretName(at, s.SecretRef))
		}),
		sourceOf("cephfs", v.CephFS,
			func(at *field.Path, s *corev1.CephFSVolumeSource) field.ErrorList { return monitors(at, s.Monitors) }),
		sourceOf("quobyte", v.Quobyte, quobyte),
		sourceOf("downwardAPI", v.DownwardAPI, func(at *field.Path, s *corev1.DownwardAPIVolumeSource) field.ErrorList {
			return append(fileMode(at.Child("defaultMode"), s.DefaultMode), each(at.Child("items"), s.Items, downwardFile)...)
		}),
		sourceOf("fc", v.FC, fibreChannel),
		sourceOf("flexVolume", v.FlexVolume, func(at *field.Path, s *corev1.FlexVolumeSource) field.ErrorList {
			return flexVolume(at, s.Driver, s.Options)
		}),
		sourceOf("configMap", v.ConfigMap, func(at *field.Path, s *corev1.ConfigMapVolumeSource) field.ErrorList {
			return join(required(at.Child("name"), s.Name), files(at, s.DefaultMode, s.Items))
		}),
		sourceOf("azureFile", v.AzureFile, func(at *field.Path, s *corev1.AzureFileVolumeSource) field.ErrorList {
			return join(required(at.Child("secretName"), s.SecretName), required(at.Child("shareName"), s.ShareName))
		}),
		sourceOf("vsphereVolume", v.VsphereVolume, vsphere),
		sourceOf("photonPersistentDisk", v.PhotonPersistentDisk, photon),
		sourceOf("portworxVolume", v.PortworxVolume, portworx),
		sourceOf("azureDisk", v.AzureDisk, azureDisk),
		sourceOf("storageos", v.StorageOS, func(at *field.Path, s *corev1.StorageOSVolumeSource) field.ErrorList {
			return join(storageOS(at, s.VolumeName, s.VolumeNamespace), secretName(at, s.SecretRef))
		}),
		sourceOf("projected", v.Projected, projected),
		sourceOf("scaleIO", v.ScaleIO, func(at *field.Path, s *corev1.ScaleIOVolumeSource) field.ErrorList {
			return scaleIO(at, s.Gateway, s.System, s.VolumeName)
		}),
		sourceOf("csi", v.CSI, func(at *field.Path, s *corev1.CSIVolumeSource) field.ErrorList {
			return append(driverName(at.Child("driver"), s.Driver), publishSecret(at, s.NodePublishSecretRef)...)
		}),
		sourceOf("ephemeral", v.Ephemeral, ephemeralVolume),
		sourceOf("image", v.Image, func(at *field.Path, s *corev1.ImageVolumeSource) field.ErrorList {
			return append(required(at.Child("reference"), s.Reference), pullPolicy(at.Child("pullPolicy"), s.PullPolicy)...)
		}),
	}
}

func emptyDir(at *field.Path, s *corev1.EmptyDirVolumeSource) field.ErrorList {
	if s.SizeLimit == nil || s.SizeLimit.Sign() >= 0 {
		return nil
	}
	return errorList(field.Forbidden(at.Child("sizeLimit"), "must be greater than or equal to 0"))
}

func hostPath(at *field.Path, s *corev1.HostPathVolumeSource) field.ErrorList {
	if s.Path == "" {
		return required(at.Child("path"), "")
	}
	return join(
		noBacksteps(at.Child("path"), s.Path),
		when(s.Type != nil && *s.Type != corev1.HostPathUnset, func() field.ErrorList {
			return oneOf(
				at.Child("type"),
				*s.Type,
				corev1.HostPathDirectoryOrCreate,
				corev1.HostPathDirectory,
				corev1.HostPathFileOrCreate,
				corev1.HostPathFile,
				corev1.HostPathSocket,
				corev1.HostPathCharDev,
				corev1.HostPathBlockDev,
			)
		}),
	)
}

func nfs(at *field.Path, s *corev1.NFSVolumeSource) field.ErrorList {
	return join(
		required(at.Child("server"), s.Server),
		required(at.Child("path"), s.Path),
		check(path.IsAbs(s.Path), at.Child("path"), s.Path, "must be an absolute path"),
	)
}

func publishSecret(at *field.Path, ref *corev1.LocalObjectReference) field.ErrorList {
	if ref == nil {
		return nil
	}
	return dnsSubdomain(at.Child("nodePublishSecretRef", "name"), ref.Name)
}

func ephemeralVolume(at *field.Path, s *corev1.EphemeralVolumeSource) field.ErrorList {
	at = at.Child("volumeClaimTemplate")
	if s.VolumeClaimTemplate == nil {
		return errorList(field.Required(at, ""))
	}
	return append(copiedMetadata(at.Child("metadata"), &s.VolumeClaimTemplate.ObjectMeta),
		volumeClaimSpec(at.Child("spec"), &s.VolumeClaimTemplate.Spec, nil)...)
}

func files(at *field.Path, mode *int32, items []corev1.KeyToPath) field.ErrorList {
	return append(fileMode(at.Child("defaultMode"), mode), each(at.Child("items"), items, keyToPath)...)
}

func keyToPath(at *field.Path, item *corev1.KeyToPath) field.ErrorList {
	return join(
		required(at.Child("key"), item.Key),
		filePath(at.Child("path"), item.Path),
		fileMode(at.Child("mode"), item.Mode),
	)
}

func downwardFile(at *field.Path, file *corev1.DownwardAPIVolumeFile) field.ErrorList {
	errs := join(filePath(at.Child("path"), file.Path), fileMode(at.Child("mode"), file.Mode))
	switch {
	case file.FieldRef != nil:
		errs = append(errs, fieldRef(at.Child("fieldRef"), file.FieldRef, fileFields())...)
		errs = append(
			errs,
			check(file.ResourceFieldRef == nil, at, "resourceFieldRef", "may not be set together with `fieldRef`")...)
	case file.ResourceFieldRef != nil:
		if file.ResourceFieldRef.ContainerName == "" {
			return append(errs, field.Required(at.Child("resourceFieldRef", "containerName"), ""))
		}
		errs = append(errs, resourceFieldRef(at.Child("resourceFieldRef"), file.ResourceFieldRef)...)
	default:
		errs = append(errs, field.Required(at, "one of `fieldRef` and `resourceFieldRef` must be set"))
	}
	return errs
}

func fileMode(at *field.Path, mode *int32) field.ErrorList {
	if mode == nil {
		return nil
	}
	return check(*mode >= 0 && *mode <= 0o777, at, *mode, "must be a number between 0 and 0777 (octal), both inclusive")
}

// filePath checks the path of a file in a volume: a relative path that does not start with two
// dots, which are reserved for the kubelet.
func filePath(at *field.Path, text string) field.ErrorList {
	if text == "" {
		return required(at, "")
	}
	errs := relativePath(at, text)
	if strings.HasPrefix(text, "..") && !strings.HasPrefix(text, "../") {
		errs = append(errs, field.Invalid(at, text, "must not begin with `..`"))
	}
	return errs
}

func relativePath(at *field.Path, text string) field.ErrorList {
	return append(check(!path.IsAbs(text), at, text, "must be a relative path"), noBacksteps(at, text)...)
}

func noBacksteps(at *field.Path, text string) field.ErrorList {
	return check(!slices.Contains(strings.Split(text, "/"), ".."), at, text, "must not contain `..`")
}

// driverName checks a DNS subdomain of at most 63 characters, in which upper case is accepted.
func driverName(at *field.Path, name string) field.ErrorList {
	errs := requiredForm(at, name, func(text string) []string {
		return validation.IsDNS1123Subdomain(strings.ToLower(text))
	})
	if len(name) > 63 {
		errs = append(errs, field.TooLong(at, "", 63))
	}
	return errs
}
