package validation

import (
	"path"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func volumes(at *field.Path, list []corev1.Volume) field.ErrorList {
	return join(
		each(at, list, func(at *field.Path, v *corev1.Volume) field.ErrorList {
			return join(dnsLabel(at.Child("name"), v.Name), exactlyOne(at, sources(&v.VolumeSource)...), volumeSource(at, &v.VolumeSource))
		}),
		unique(at, list, "name", func(v *corev1.Volume) string { return v.Name }),
	)
}

// sources lists the fields of a volume source.
func sources(source *corev1.VolumeSource) []member {
	return pointers(source, "emptyDir", "hostPath", "secret", "configMap", "projected", "persistentVolumeClaim", "ephemeral", "csi", "nfs", "image")
}

// pointers lists the fields of a union by their JSON names. All of them are pointers, of which one is set. When none is, or
// several are, the message names only those that are common and those that are set.
func pointers(union any, common ...string) []member {
	value := reflect.ValueOf(union).Elem()
	var members []member
	for i := range value.NumField() {
		name, _, _ := strings.Cut(value.Type().Field(i).Tag.Get("json"), ",")
		if set := !value.Field(i).IsNil(); set || slices.Contains(common, name) {
			members = append(members, member{name, set})
		}
	}
	return members
}

func volumeSource(at *field.Path, source *corev1.VolumeSource) field.ErrorList {
	var errs field.ErrorList
	if s := source.EmptyDir; s != nil && s.SizeLimit != nil {
		errs = append(errs, nonNegativeQuantity(at.Child("emptyDir", "sizeLimit"), *s.SizeLimit)...)
	}
	if s := source.HostPath; s != nil {
		errs = append(errs, hostPath(at.Child("hostPath"), s)...)
	}
	if s := source.Secret; s != nil {
		errs = append(errs, required(at.Child("secret", "secretName"), s.SecretName)...)
		errs = append(errs, files(at.Child("secret"), s.DefaultMode, s.Items)...)
	}
	if s := source.ConfigMap; s != nil {
		errs = append(errs, required(at.Child("configMap", "name"), s.Name)...)
		errs = append(errs, files(at.Child("configMap"), s.DefaultMode, s.Items)...)
	}
	if s := source.DownwardAPI; s != nil {
		errs = append(errs, fileMode(at.Child("downwardAPI", "defaultMode"), s.DefaultMode)...)
		errs = append(errs, each(at.Child("downwardAPI", "items"), s.Items, downwardFile)...)
	}
	if s := source.Projected; s != nil {
		errs = append(errs, projected(at.Child("projected"), s)...)
	}
	if s := source.PersistentVolumeClaim; s != nil {
		errs = append(errs, required(at.Child("persistentVolumeClaim", "claimName"), s.ClaimName)...)
	}
	if s := source.Ephemeral; s != nil && s.VolumeClaimTemplate == nil {
		errs = append(errs, field.Required(at.Child("ephemeral", "volumeClaimTemplate"), ""))
	}
	if s := source.CSI; s != nil {
		errs = append(errs, driverName(at.Child("csi", "driver"), s.Driver)...)
	}
	if s := source.NFS; s != nil {
		errs = append(errs, nfs(at.Child("nfs"), s)...)
	}
	if s := source.Image; s != nil {
		errs = append(errs, required(at.Child("image", "reference"), s.Reference)...)
		errs = append(errs, oneOf(at.Child("image", "pullPolicy"), s.PullPolicy, corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever)...)
	}
	return errs
}

func nfs(at *field.Path, s *corev1.NFSVolumeSource) field.ErrorList {
	return join(
		required(at.Child("server"), s.Server),
		required(at.Child("path"), s.Path),
		when(s.Path != "", func() field.ErrorList {
			return check(path.IsAbs(s.Path), at.Child("path"), s.Path, "must be an absolute path")
		}),
	)
}

func hostPath(at *field.Path, s *corev1.HostPathVolumeSource) field.ErrorList {
	return join(
		required(at.Child("path"), s.Path),
		noBacksteps(at.Child("path"), s.Path),
		when(s.Type != nil && *s.Type != corev1.HostPathUnset, func() field.ErrorList {
			return oneOf(at.Child("type"), *s.Type, corev1.HostPathDirectoryOrCreate, corev1.HostPathDirectory, corev1.HostPathFileOrCreate,
				corev1.HostPathFile, corev1.HostPathSocket, corev1.HostPathCharDev, corev1.HostPathBlockDev)
		}),
	)
}

func files(at *field.Path, mode *int32, items []corev1.KeyToPath) field.ErrorList {
	return join(
		fileMode(at.Child("defaultMode"), mode),
		each(at.Child("items"), items, func(at *field.Path, item *corev1.KeyToPath) field.ErrorList {
			return join(
				required(at.Child("key"), item.Key),
				relativePath(at.Child("path"), item.Path),
				fileMode(at.Child("mode"), item.Mode),
			)
		}),
	)
}

func downwardFile(at *field.Path, file *corev1.DownwardAPIVolumeFile) field.ErrorList {
	errs := join(
		relativePath(at.Child("path"), file.Path),
		fileMode(at.Child("mode"), file.Mode),
		exactlyOne(at, member{"fieldRef", file.FieldRef != nil}, member{"resourceFieldRef", file.ResourceFieldRef != nil}),
	)
	if file.FieldRef != nil {
		errs = append(errs, fieldRef(at.Child("fieldRef"), file.FieldRef, fileFields())...)
	}
	if ref := file.ResourceFieldRef; ref != nil {
		errs = append(errs, required(at.Child("resourceFieldRef", "containerName"), ref.ContainerName)...)
		errs = append(errs, required(at.Child("resourceFieldRef", "resource"), ref.Resource)...)
	}
	return errs
}

func projected(at *field.Path, s *corev1.ProjectedVolumeSource) field.ErrorList {
	return append(fileMode(at.Child("defaultMode"), s.DefaultMode),
		each(at.Child("sources"), s.Sources, func(at *field.Path, p *corev1.VolumeProjection) field.ErrorList {
			errs := exactlyOne(at,
				member{"secret", p.Secret != nil},
				member{"configMap", p.ConfigMap != nil},
				member{"downwardAPI", p.DownwardAPI != nil},
				member{"serviceAccountToken", p.ServiceAccountToken != nil},
				member{"clusterTrustBundle", p.ClusterTrustBundle != nil},
				member{"podCertificate", p.PodCertificate != nil},
			)
			if p.Secret != nil {
				errs = append(errs, required(at.Child("secret", "name"), p.Secret.Name)...)
				errs = append(errs, files(at.Child("secret"), nil, p.Secret.Items)...)
			}
			if p.ConfigMap != nil {
				errs = append(errs, required(at.Child("configMap", "name"), p.ConfigMap.Name)...)
				errs = append(errs, files(at.Child("configMap"), nil, p.ConfigMap.Items)...)
			}
			if p.DownwardAPI != nil {
				errs = append(errs, each(at.Child("downwardAPI", "items"), p.DownwardAPI.Items, downwardFile)...)
			}
			if t := p.ServiceAccountToken; t != nil {
				errs = append(errs, relativePath(at.Child("serviceAccountToken", "path"), t.Path)...)
				if t.ExpirationSeconds != nil {
					errs = append(errs, between(at.Child("serviceAccountToken", "expirationSeconds"), *t.ExpirationSeconds, 10*60, 1<<32)...)
				}
			}
			return errs
		})...)
}

func fileMode(at *field.Path, mode *int32) field.ErrorList {
	if mode == nil {
		return nil
	}
	return check(*mode >= 0 && *mode <= 0o777, at, *mode, "must be a number between 0 and 0777 (octal), both inclusive")
}

func relativePath(at *field.Path, text string) field.ErrorList {
	return join(
		required(at, text),
		check(!path.IsAbs(text), at, text, "must be a relative path"),
		noBacksteps(at, text),
	)
}

func noBacksteps(at *field.Path, text string) field.ErrorList {
	return check(!slices.Contains(strings.Split(text, "/"), ".."), at, text, "must not contain `..`")
}

// driverName is a DNS subdomain of at most 63 characters, in which capitals pass.
func driverName(at *field.Path, name string) field.ErrorList {
	errs := form(at, name, func(text string) []string { return validation.IsDNS1123Subdomain(strings.ToLower(text)) })
	if len(name) > 63 {
		errs = append(errs, field.TooLong(at, "", 63))
	}
	return errs
}
