package validation

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func volumeNamed(list []corev1.Volume, name string) (*corev1.Volume, bool) {
	for i := range list {
		if list[i].Name == name {
			return &list[i], true
		}
	}
	return nil, false
}

func volumeMounts(at *field.Path, c *corev1.Container, volumes []corev1.Volume) field.ErrorList {
	return join(
		each(at, c.VolumeMounts, func(at *field.Path, m *corev1.VolumeMount) field.ErrorList {
			errs := join(
				volumeReference(at.Child("name"), m.Name, volumes),
				required(at.Child("mountPath"), m.MountPath),
				optionalOneOf(at.Child("mountPropagation"), m.MountPropagation,
					corev1.MountPropagationNone, corev1.MountPropagationHostToContainer, corev1.MountPropagationBidirectional),
			)
			for _, sub := range []struct{ field, value string }{{"subPath", m.SubPath}, {"subPathExpr", m.SubPathExpr}} {
				if sub.value != "" {
					errs = append(errs, relativePath(at.Child(sub.field), sub.value)...)
				}
			}
			if m.SubPath != "" && m.SubPathExpr != "" {
				errs = append(errs, field.Invalid(at.Child("subPathExpr"), m.SubPathExpr, "may not be set together with `subPath`"))
			}
			if p := m.MountPropagation; p != nil && *p == corev1.MountPropagationBidirectional && !privileged(c) {
				errs = append(errs, field.Forbidden(at.Child("mountPropagation"), "Bidirectional is for privileged containers only"))
			}
			if m.RecursiveReadOnly != nil && *m.RecursiveReadOnly != corev1.RecursiveReadOnlyDisabled && !m.ReadOnly {
				errs = append(errs, field.Forbidden(at.Child("recursiveReadOnly"), "may only be set where `readOnly` is true"))
			}
			return errs
		}),
		unique(at, c.VolumeMounts, "mountPath", func(m *corev1.VolumeMount) string { return m.MountPath }),
	)
}

func privileged(c *corev1.Container) bool {
	return c.SecurityContext != nil && c.SecurityContext.Privileged != nil && *c.SecurityContext.Privileged
}

func volumeReference(at *field.Path, name string, volumes []corev1.Volume) field.ErrorList {
	if name == "" {
		return one(field.Required(at, ""))
	}
	if _, ok := volumeNamed(volumes, name); !ok {
		return one(field.NotFound(at, name))
	}
	return nil
}

func volumeDevices(at *field.Path, c *corev1.Container, volumes []corev1.Volume) field.ErrorList {
	mounted := map[string]bool{}
	for i := range c.VolumeMounts {
		mounted[c.VolumeMounts[i].Name] = true
	}
	return join(
		each(at, c.VolumeDevices, func(at *field.Path, d *corev1.VolumeDevice) field.ErrorList {
			errs := join(
				volumeReference(at.Child("name"), d.Name, volumes),
				required(at.Child("devicePath"), d.DevicePath),
				noBacksteps(at.Child("devicePath"), d.DevicePath),
			)
			if v, ok := volumeNamed(volumes, d.Name); ok && v.PersistentVolumeClaim == nil && v.Ephemeral == nil {
				errs = append(errs, field.Invalid(at.Child("name"), d.Name, "only persistentVolumeClaim and ephemeral volumes can be block devices"))
			}
			if mounted[d.Name] {
				errs = append(errs, field.Invalid(at.Child("name"), d.Name, "is mounted as a file system already"))
			}
			return errs
		}),
		unique(at, c.VolumeDevices, "name", func(d *corev1.VolumeDevice) string { return d.Name }),
		unique(at, c.VolumeDevices, "devicePath", func(d *corev1.VolumeDevice) string { return d.DevicePath }),
	)
}
