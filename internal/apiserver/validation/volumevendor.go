package validation

import (
	"net"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// This file has the sources for specific storage systems. PersistentVolumes have separate types for
// some of them, so that the rules take fields.

func gitRepo(at *field.Path, s *corev1.GitRepoVolumeSource) field.ErrorList {
	return append(required(at.Child("repository"), s.Repository), relativePath(at.Child("directory"), s.Directory)...)
}

func gceDisk(at *field.Path, s *corev1.GCEPersistentDiskVolumeSource) field.ErrorList {
	return append(required(at.Child("pdName"), s.PDName), partition(at, s.Partition)...)
}

func awsDisk(at *field.Path, s *corev1.AWSElasticBlockStoreVolumeSource) field.ErrorList {
	return append(required(at.Child("volumeID"), s.VolumeID), partition(at, s.Partition)...)
}

func partition(at *field.Path, number int32) field.ErrorList {
	return between(at.Child("partition"), int64(number), 0, 255)
}

// Forms of names in iSCSI (RFC 3720, 3980).
var (
	iqnForm = regexp.MustCompile(`^iqn\.\d{4}-\d{2}\.([[:alnum:]-.]+)(:[^,;*&$|\s]+)$`)
	euiForm = regexp.MustCompile(`^eui.[[:alnum:]]{16}$`)
	naaForm = regexp.MustCompile(`^naa.[[:alnum:]]{32}$`)
)

func iscsiName(at *field.Path, name string) field.ErrorList {
	ok := iqnForm.MatchString(name) || euiForm.MatchString(name) || naaForm.MatchString(name)
	return check(ok, at, name, "must be a name in the format iqn, eui or naa")
}

func iscsi(at *field.Path, s *corev1.ISCSIVolumeSource) field.ErrorList {
	return iscsiTarget(at, s.TargetPortal, s.IQN, s.Lun, s.InitiatorName,
		(s.DiscoveryCHAPAuth || s.SessionCHAPAuth) && s.SecretRef == nil)
}

func iscsiTarget(at *field.Path, portal, iqn string, lun int32, initiator *string, lacksSecret bool) field.ErrorList {
	errs := append(required(at.Child("targetPortal"), portal), between(at.Child("lun"), int64(lun), 0, 255)...)
	if iqn == "" {
		errs = append(errs, field.Required(at.Child("iqn"), ""))
	} else {
		errs = append(errs, iscsiName(at.Child("iqn"), iqn)...)
	}
	if lacksSecret {
		errs = append(errs, field.Required(at.Child("secretRef"), "needed with CHAP"))
	}
	if initiator != nil {
		errs = append(errs, iscsiName(at.Child("initiatorName"), *initiator)...)
	}
	return errs
}

// initiatorName limits the length of the name under which the initiator knows the volume.
func initiatorName(at *field.Path, s *corev1.ISCSIVolumeSource, volume string) field.ErrorList {
	if s == nil || s.InitiatorName == nil {
		return nil
	}
	return check(len(volume+":"+s.TargetPortal) <= 64, at, volume,
		"must have at most 64 characters together with `iscsi.targetPortal`")
}

func flocker(at *field.Path, s *corev1.FlockerVolumeSource) field.ErrorList {
	errs := check(!strings.Contains(s.DatasetName, "/"), at.Child("datasetName"), s.DatasetName, "must not contain `/`")
	switch {
	case s.DatasetName == "" && s.DatasetUUID == "":
		errs = append(errs, field.Required(at, "one of `datasetName` and `datasetUUID` must be set"))
	case s.DatasetName != "" && s.DatasetUUID != "":
		errs = append(errs, field.Invalid(at, s.DatasetUUID, "only one of `datasetName` and `datasetUUID` may be set"))
	}
	return errs
}

func rbd(at *field.Path, ceph []string, image string) field.ErrorList {
	return append(monitors(at, ceph), required(at.Child("image"), image)...)
}

func monitors(at *field.Path, list []string) field.ErrorList {
	if len(list) > 0 {
		return nil
	}
	return errorList(field.Required(at.Child("monitors"), ""))
}

// secretName checks a reference to a Secret in the namespace of the pod.
func secretName(at *field.Path, ref *corev1.LocalObjectReference) field.ErrorList {
	if ref == nil {
		return nil
	}
	return required(at.Child("secretRef", "name"), ref.Name)
}

func quobyte(at *field.Path, s *corev1.QuobyteVolumeSource) field.ErrorList {
	errs := required(at.Child("volume"), s.Volume)
	switch {
	case s.Registry == "":
		errs = append(errs, field.Required(at.Child("registry"), "host:port, or several of them with commas"))
	case len(s.Tenant) > 64:
		errs = append(errs, field.Required(at.Child("tenant"), "a UUID of at most 64 characters"))
	default:
		for host := range strings.SplitSeq(s.Registry, ",") {
			_, _, err := net.SplitHostPort(host)
			errs = append(
				errs,
				check(err == nil, at.Child("registry"), s.Registry, "must be host:port, or several of them with commas")...)
		}
	}
	return errs
}

func fibreChannel(at *field.Path, s *corev1.FCVolumeSource) field.ErrorList {
	names, ids := len(s.TargetWWNs), len(s.WWIDs)
	var errs field.ErrorList
	switch {
	case names == 0 && ids == 0:
		errs = append(errs, field.Required(at.Child("targetWWNs"), "one of `targetWWNs` and `wwids` must be set"))
	case names > 0 && ids > 0:
		errs = append(errs,
			field.Invalid(at.Child("targetWWNs"), s.TargetWWNs, "only one of `targetWWNs` and `wwids` may be set"))
	}
	if names > 0 && s.Lun == nil {
		errs = append(errs, field.Required(at.Child("lun"), "needed with `targetWWNs`"))
	} else if names > 0 {
		errs = append(errs, between(at.Child("lun"), int64(*s.Lun), 0, 255)...)
	}
	return errs
}

func flexVolume(at *field.Path, driver string, options map[string]string) field.ErrorList {
	errs := required(at.Child("driver"), driver)
	for key := range options {
		domain, _, _ := strings.Cut(key, "/")
		domain = "." + strings.ToLower(domain)
		if strings.HasSuffix(domain, ".kubernetes.io") || strings.HasSuffix(domain, ".k8s.io") {
			errs = append(errs, field.Invalid(at.Child("options").Key(key), key, "must not be in a domain of Kubernetes"))
		}
	}
	return errs
}

func vsphere(at *field.Path, s *corev1.VsphereVirtualDiskVolumeSource) field.ErrorList {
	return required(at.Child("volumePath"), s.VolumePath)
}

func photon(at *field.Path, s *corev1.PhotonPersistentDiskVolumeSource) field.ErrorList {
	return required(at.Child("pdID"), s.PdID)
}

func portworx(at *field.Path, s *corev1.PortworxVolumeSource) field.ErrorList {
	return required(at.Child("volumeID"), s.VolumeID)
}

func azureDisk(at *field.Path, s *corev1.AzureDiskVolumeSource) field.ErrorList {
	errs := append(required(at.Child("diskName"), s.DiskName), required(at.Child("diskURI"), s.DataDiskURI)...)
	if s.CachingMode != nil {
		errs = append(errs, supported(at.Child("cachingMode"), *s.CachingMode,
			corev1.AzureDataDiskCachingNone, corev1.AzureDataDiskCachingReadOnly, corev1.AzureDataDiskCachingReadWrite)...)
	}
	if s.Kind != nil {
		errs = append(
			errs,
			supported(at.Child("kind"), *s.Kind, corev1.AzureSharedBlobDisk, corev1.AzureDedicatedBlobDisk,
				corev1.AzureManagedDisk)...)
		prefix := "https://"
		if *s.Kind == corev1.AzureManagedDisk {
			prefix = "/subscriptions/"
		}
		if !strings.HasPrefix(s.DataDiskURI, prefix) {
			errs = append(errs, field.NotSupported(at.Child("diskURI"), s.DataDiskURI, []string{prefix + "…"}))
		}
	}
	return errs
}

func storageOS(at *field.Path, name, namespace string) field.ErrorList {
	errs := dnsLabel(at.Child("volumeName"), name)
	if namespace != "" {
		errs = append(errs, dnsLabel(at.Child("volumeNamespace"), namespace)...)
	}
	return errs
}

func scaleIO(at *field.Path, gateway, system, volume string) field.ErrorList {
	return join(required(at.Child("gateway"), gateway), required(at.Child("system"), system),
		required(at.Child("volumeName"), volume))
}

// secretReference checks a reference of a PersistentVolume to a Secret.
func secretReference(at *field.Path, ref *corev1.SecretReference) field.ErrorList {
	if ref == nil {
		return nil
	}
	return append(dnsSubdomain(at.Child("name"), ref.Name), dnsLabel(at.Child("namespace"), ref.Namespace)...)
}

func azureFileNamespace(at *field.Path, namespace *string) field.ErrorList {
	return required(at.Child("secretNamespace"), ptr.Deref(namespace, "-"))
}
