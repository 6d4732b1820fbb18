package validation

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func env(path *field.Path, c *corev1.Container) field.ErrorList {
	return join(
		each(path.Child("env"), c.Env, func(at *field.Path, v *corev1.EnvVar) field.ErrorList {
			errs := form(at.Child("name"), v.Name, validation.IsRelaxedEnvVarName)
			if v.ValueFrom == nil {
				return errs
			}
			if v.Value != "" {
				errs = append(errs, field.Invalid(at.Child("valueFrom"), "", "may not be set where `value` is not empty"))
			}
			return append(errs, envSource(at.Child("valueFrom"), v.ValueFrom)...)
		}),
		each(path.Child("envFrom"), c.EnvFrom, func(at *field.Path, from *corev1.EnvFromSource) field.ErrorList {
			errs := join(
				optionalForm(at.Child("prefix"), from.Prefix, validation.IsRelaxedEnvVarName),
				exactlyOne(at, member{"configMapRef", from.ConfigMapRef != nil}, member{"secretRef", from.SecretRef != nil}),
			)
			if from.ConfigMapRef != nil {
				errs = append(errs, dnsSubdomain(at.Child("configMapRef", "name"), from.ConfigMapRef.Name)...)
			}
			if from.SecretRef != nil {
				errs = append(errs, dnsSubdomain(at.Child("secretRef", "name"), from.SecretRef.Name)...)
			}
			return errs
		}),
	)
}

func envSource(path *field.Path, source *corev1.EnvVarSource) field.ErrorList {
	errs := exactlyOne(path,
		member{"fieldRef", source.FieldRef != nil},
		member{"resourceFieldRef", source.ResourceFieldRef != nil},
		member{"configMapKeyRef", source.ConfigMapKeyRef != nil},
		member{"secretKeyRef", source.SecretKeyRef != nil},
		member{"fileKeyRef", source.FileKeyRef != nil},
	)
	if ref := source.FieldRef; ref != nil {
		errs = append(errs, fieldRef(path.Child("fieldRef"), ref, envFields())...)
	}
	if ref := source.ResourceFieldRef; ref != nil {
		errs = append(errs, required(path.Child("resourceFieldRef", "resource"), ref.Resource)...)
	}
	if ref := source.ConfigMapKeyRef; ref != nil {
		errs = append(errs, keyRef(path.Child("configMapKeyRef"), ref.Name, ref.Key)...)
	}
	if ref := source.SecretKeyRef; ref != nil {
		errs = append(errs, keyRef(path.Child("secretKeyRef"), ref.Name, ref.Key)...)
	}
	if ref := source.FileKeyRef; ref != nil {
		at := path.Child("fileKeyRef")
		errs = append(errs, join(
			dnsLabel(at.Child("volumeName"), ref.VolumeName),
			relativePath(at.Child("path"), ref.Path),
			form(at.Child("key"), ref.Key, validation.IsRelaxedEnvVarName),
		)...)
	}
	return errs
}

func keyRef(path *field.Path, name, key string) field.ErrorList {
	return join(dnsSubdomain(path.Child("name"), name), form(path.Child("key"), key, validation.IsConfigMapKey))
}

// envFields are the fields of a pod that an environment variable can hold.
func envFields() []string {
	return []string{
		"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
		"status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
	}
}

// fileFields are those that a file can hold. Whole maps fit into files alone.
func fileFields() []string {
	return []string{"metadata.name", "metadata.namespace", "metadata.uid", "metadata.labels", "metadata.annotations"}
}

func fieldRef(path *field.Path, ref *corev1.ObjectFieldSelector, fields []string) field.ErrorList {
	errs := required(path.Child("apiVersion"), ref.APIVersion)
	at := path.Child("fieldPath")
	name, key, subscripted := strings.Cut(ref.FieldPath, "['")
	if !subscripted {
		return append(errs, oneOf(at, ref.FieldPath, fields...)...)
	}
	errs = append(errs, oneOf(at, name, "metadata.labels", "metadata.annotations")...)
	key, closed := strings.CutSuffix(key, "']")
	errs = append(errs, check(closed, at, ref.FieldPath, "must end with `']`")...)
	return append(errs, form(at, key, validation.IsQualifiedName)...)
}
