package validation

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	core "github.com/allot-dev/allot/api/core/v1"
)

// Prefixes of the annotations that had the profiles of containers before there were fields.
const (
	seccompAnnotation  = corev1.SeccompContainerAnnotationKeyPrefix
	appArmorAnnotation = corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix
)

// podAnnotations checks annotations that concern the pod.
func podAnnotations(path *field.Path, annotations map[string]string, spec *core.PodSpec) field.ErrorList {
	var errs field.ErrorList
	if value, ok := annotations[corev1.MirrorPodAnnotationKey]; ok {
		errs = append(
			errs,
			check(spec.NodeName != "", path.Key(corev1.MirrorPodAnnotationKey), value, "is for pods with `spec.nodeName`")...)
		if len(spec.ResourceClaims) > 0 {
			errs = append(errs,
				field.Forbidden(path.Key(corev1.MirrorPodAnnotationKey), "static pods cannot have resource claims"))
		}
	}
	if value, ok := annotations[corev1.PodDeletionCost]; ok {
		n, err := strconv.ParseInt(value, 10, 32)
		plain := err == nil && (strings.HasPrefix(value, "-") || strconv.FormatInt(n, 10) == value)
		errs = append(errs, check(plain, path.Key(corev1.PodDeletionCost), value, "must be an integer of 32 bits")...)
	}
	for key, value := range annotations {
		name, ofContainer := strings.CutPrefix(key, appArmorAnnotation)
		switch {
		case key == corev1.SeccompPodAnnotationKey, strings.HasPrefix(key, seccompAnnotation):
			errs = append(errs, seccompText(path.Key(key), value)...)
		case ofContainer:
			errs = append(errs, check(hasContainer(spec, name), path.Key(key), name, "must name a container")...)
			errs = append(errs, check(isAppArmorText(value), path.Key(key), value, "must be a profile of AppArmor")...)
		}
	}
	return errs
}

func seccompText(path *field.Path, value string) field.ErrorList {
	if slices.Contains(runtimeDefaults(), value) || value == corev1.SeccompProfileNameUnconfined {
		return nil
	}
	local, ok := strings.CutPrefix(value, corev1.SeccompLocalhostProfileNamePrefix)
	if !ok {
		return errorList(field.Invalid(path, value, "must be a profile of seccomp"))
	}
	return relativePath(path, local)
}

func runtimeDefaults() []string {
	return []string{corev1.SeccompProfileRuntimeDefault, corev1.DeprecatedSeccompProfileDockerDefault}
}

func isAppArmorText(value string) bool {
	return value == "" || value == corev1.DeprecatedAppArmorBetaProfileRuntimeDefault ||
		value == corev1.DeprecatedAppArmorBetaProfileNameUnconfined ||
		strings.HasPrefix(value, corev1.DeprecatedAppArmorBetaProfileNamePrefix)
}

func hasContainer(spec *core.PodSpec, name string) bool {
	return slices.ContainsFunc(containerLists(spec), func(list containerList) bool {
		return slices.ContainsFunc(list.containers, func(c corev1.Container) bool { return c.Name == name })
	})
}

// annotationsUpdate rejects changes of annotations on which the node has acted.
func annotationsUpdate(path *field.Path, now, old map[string]string) field.ErrorList {
	var errs field.ErrorList
	fixed := func(key string) bool {
		return key == corev1.MirrorPodAnnotationKey || strings.HasPrefix(key, appArmorAnnotation)
	}
	for key, value := range old {
		if kept, ok := now[key]; fixed(key) && (!ok || kept != value) {
			errs = append(errs, field.Forbidden(path.Key(key), "may not be removed or changed"))
		}
	}
	for key := range now {
		if _, ok := old[key]; fixed(key) && !ok {
			errs = append(errs, field.Forbidden(path.Key(key), "may not be added"))
		}
	}
	return errs
}

// profilesAgree checks that the profiles in annotations equal those in the fields.
func profilesAgree(path *field.Path, pod *core.Pod) field.ErrorList {
	var errs field.ErrorList
	var seccompOfPod *corev1.SeccompProfile
	var appArmorOfPod *corev1.AppArmorProfile
	if s := pod.Spec.SecurityContext; s != nil {
		seccompOfPod, appArmorOfPod = s.SeccompProfile, s.AppArmorProfile
	}
	if value, ok := pod.Annotations[corev1.SeccompPodAnnotationKey]; ok {
		errs = append(errs, seccompAgrees(path.Child("securityContext", "seccompProfile"), value, seccompOfPod)...)
	}
	return append(errs, eachContainer(path, &pod.Spec, func(at *field.Path, c *corev1.Container) field.ErrorList {
		at = at.Child("securityContext")
		var errs field.ErrorList
		armor := appArmorOfPod
		if c.SecurityContext != nil {
			if value, ok := pod.Annotations[seccompAnnotation+c.Name]; ok {
				errs = append(errs, seccompAgrees(at.Child("seccompProfile"), value, c.SecurityContext.SeccompProfile)...)
			}
			if c.SecurityContext.AppArmorProfile != nil {
				armor = c.SecurityContext.AppArmorProfile
			}
		}
		if value, ok := pod.Annotations[appArmorAnnotation+c.Name]; ok && !isWindows(&pod.Spec) {
			errs = append(errs, appArmorAgrees(at.Child("appArmorProfile"), value, armor)...)
		}
		return errs
	})...)
}

func isWindows(spec *core.PodSpec) bool { return spec.OS != nil && spec.OS.Name == corev1.Windows }

const profileDiffers = "must be the same as in the annotation"

func seccompAgrees(path *field.Path, value string, p *corev1.SeccompProfile) field.ErrorList {
	if p == nil {
		return nil
	}
	local, isLocal := strings.CutPrefix(value, corev1.SeccompLocalhostProfileNamePrefix)
	return sameProfile(path, p.LocalhostProfile, local, map[string]bool{
		string(corev1.SeccompProfileTypeUnconfined):     value == corev1.SeccompProfileNameUnconfined,
		string(corev1.SeccompProfileTypeRuntimeDefault): slices.Contains(runtimeDefaults(), value),
		string(corev1.SeccompProfileTypeLocalhost):      isLocal,
	}, string(p.Type))
}

func appArmorAgrees(path *field.Path, value string, p *corev1.AppArmorProfile) field.ErrorList {
	if p == nil {
		return nil
	}
	local, isLocal := strings.CutPrefix(value, corev1.DeprecatedAppArmorBetaProfileNamePrefix)
	return sameProfile(path, p.LocalhostProfile, local, map[string]bool{
		string(corev1.AppArmorProfileTypeUnconfined):     value == corev1.DeprecatedAppArmorBetaProfileNameUnconfined,
		string(corev1.AppArmorProfileTypeRuntimeDefault): value == corev1.DeprecatedAppArmorBetaProfileRuntimeDefault,
		string(corev1.AppArmorProfileTypeLocalhost):      isLocal,
	}, string(p.Type))
}

// sameProfile checks the type of a profile, and its name if it is a file on the node.
func sameProfile(
	path *field.Path, name *string, inAnnotation string, is map[string]bool, profile string,
) field.ErrorList {
	same, known := is[profile]
	switch {
	case known && !same:
		return errorList(field.Forbidden(path.Child("type"), profileDiffers))
	case profile == string(corev1.SeccompProfileTypeLocalhost) && (name == nil || ptr.Deref(name, "") != inAnnotation):
		return errorList(field.Forbidden(path.Child("localhostProfile"), profileDiffers))
	}
	return nil
}
