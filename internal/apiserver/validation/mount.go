package validation

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// volumeMounts checks the mounts of a container; volumes are those that it can mount.
func volumeMounts(at *field.Path, c *corev1.Container, volumes map[string]*corev1.Volume) field.ErrorList {
	seen, devices := map[string]bool{}, map[string]string{}
	for i := range c.VolumeDevices {
		devices[c.VolumeDevices[i].Name] = c.VolumeDevices[i].DevicePath
	}
	return each(at, c.VolumeMounts, func(at *field.Path, m *corev1.VolumeMount) field.ErrorList {
		errs := join(
			volumeReference(at.Child("name"), m.Name, volumes),
			required(at.Child("mountPath"), m.MountPath),
			check(!seen[m.MountPath], at.Child("mountPath"), m.MountPath, "must be unique in a container"),
			when(m.SubPath != "", func() field.ErrorList { return relativePath(at.Child("subPath"), m.SubPath) }),
			when(m.SubPathExpr != "", func() field.ErrorList {
				return append(relativePath(at.Child("subPathExpr"), m.SubPathExpr),
					check(m.SubPath == "", at.Child("subPathExpr"), m.SubPathExpr, "may not be set together with `subPath`")...)
			}),
			propagation(at.Child("mountPropagation"), m, c),
			recursiveReadOnly(at.Child("recursiveReadOnly"), m),
		)
		seen[m.MountPath] = true
		_, used := devices[m.Name]
		return append(errs, join(
			check(!used, at.Child("name"), m.Name, "must not also be a block device"),
			check(!slices.Contains(slices.Collect(maps.Values(devices)), m.MountPath), at.Child("mountPath"), m.MountPath,
				"must not also be the path of a block device"),
		)...)
	})
}

func propagation(at *field.Path, m *corev1.VolumeMount, c *corev1.Container) field.ErrorList {
	if m.MountPropagation == nil {
		return nil
	}
	errs := supported(at, *m.MountPropagation,
		corev1.MountPropagationNone, corev1.MountPropagationHostToContainer, corev1.MountPropagationBidirectional)
	if *m.MountPropagation == corev1.MountPropagationBidirectional && !privileged(c) {
		errs = append(errs, field.Forbidden(at, "Bidirectional mount propagation is available only to privileged containers"))
	}
	return errs
}

func recursiveReadOnly(at *field.Path, m *corev1.VolumeMount) field.ErrorList {
	if m.RecursiveReadOnly == nil || *m.RecursiveReadOnly == corev1.RecursiveReadOnlyDisabled {
		return nil
	}
	errs := supported(at, *m.RecursiveReadOnly,
		corev1.RecursiveReadOnlyDisabled, corev1.RecursiveReadOnlyIfPossible, corev1.RecursiveReadOnlyEnabled)
	if len(errs) > 0 {
		return errs
	}
	if !m.ReadOnly {
		errs = append(errs, field.Forbidden(at, "may only be set where `readOnly` is true"))
	}
	if m.MountPropagation != nil && *m.MountPropagation != corev1.MountPropagationNone {
		errs = append(errs, field.Forbidden(at, "may only be set without mount propagation"))
	}
	return errs
}

func privileged(c *corev1.Container) bool {
	return c.SecurityContext != nil && c.SecurityContext.Privileged != nil && *c.SecurityContext.Privileged
}

func volumeReference(at *field.Path, name string, volumes map[string]*corev1.Volume) field.ErrorList {
	errs := required(at, name)
	if volumes[name] == nil {
		errs = append(errs, field.NotFound(at, name))
	}
	return errs
}

func volumeDevices(at *field.Path, c *corev1.Container, volumes map[string]*corev1.Volume) field.ErrorList {
	names, paths, mounts := map[string]bool{}, map[string]bool{}, map[string]string{}
	for i := range c.VolumeMounts {
		mounts[c.VolumeMounts[i].Name] = c.VolumeMounts[i].MountPath
	}
	return each(at, c.VolumeDevices, func(at *field.Path, d *corev1.VolumeDevice) field.ErrorList {
		path := at.Child("devicePath")
		backsteps := noBacksteps(path, d.DevicePath)
		errs := join(
			volumeReference(at.Child("name"), d.Name, volumes),
			check(d.Name == "" || !names[d.Name], at.Child("name"), d.Name, "must be unique in a container"),
			required(path, d.DevicePath),
			check(!paths[d.DevicePath], path, d.DevicePath, "must be unique in a container"),
			backsteps,
		)
		names[d.Name] = true
		paths[d.DevicePath] = paths[d.DevicePath] || len(backsteps) == 0
		if v := volumes[d.Name]; v != nil && v.PersistentVolumeClaim == nil && v.Ephemeral == nil {
			errs = append(errs,
				field.Invalid(at.Child("name"), d.Name, "only persistentVolumeClaim and ephemeral volumes can be block devices"))
		}
		_, mounted := mounts[d.Name]
		return append(errs, join(
			check(!mounted, at.Child("name"), d.Name, "must not also be mounted as a file system"),
			check(!slices.Contains(slices.Collect(maps.Values(mounts)), d.DevicePath), path, d.DevicePath,
				"must not also be the path of a mount"),
		)...)
	})
}
