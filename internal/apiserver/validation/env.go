package validation

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func env(path *field.Path, c *corev1.Container) field.ErrorList {
	from := path.Child("envFrom")
	return join(
		each(path.Child("env"), c.Env, func(at *field.Path, v *corev1.EnvVar) field.ErrorList {
			return join(requiredForm(at.Child("name"), v.Name, validation.IsRelaxedEnvVarName), envSource(at.Child("valueFrom"), v))
		}),
		each(from, c.EnvFrom, func(at *field.Path, s *corev1.EnvFromSource) field.ErrorList {
			errs := optionalForm(at.Child("prefix"), s.Prefix, validation.IsRelaxedEnvVarName)
			if s.ConfigMapRef != nil {
				errs = append(errs, dnsSubdomain(at.Child("configMapRef", "name"), s.ConfigMapRef.Name)...)
			}
			if s.SecretRef != nil {
				errs = append(errs, dnsSubdomain(at.Child("secretRef", "name"), s.SecretRef.Name)...)
			}
			return append(
				errs,
				check((s.ConfigMapRef != nil) != (s.SecretRef != nil), from, "",
					at.String()+": one of `configMapRef` and `secretRef` must be set")...)
		}),
	)
}

func envSource(path *field.Path, v *corev1.EnvVar) field.ErrorList {
	from := v.ValueFrom
	if from == nil {
		return nil
	}
	n := 0
	for _, set := range []bool{
		from.FieldRef != nil, from.ResourceFieldRef != nil, from.ConfigMapKeyRef != nil, from.SecretKeyRef != nil,
		from.FileKeyRef != nil,
	} {
		if set {
			n++
		}
	}
	errs := check(n == 1, path, "",
		"one of `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef`, `fileKeyRef` must be set")
	errs = append(errs, check(v.Value == "", path, "", "may not be set where `value` is not empty")...)
	if ref := from.FieldRef; ref != nil {
		errs = append(errs, fieldRef(path.Child("fieldRef"), ref, envFields())...)
	}
	if ref := from.ResourceFieldRef; ref != nil {
		errs = append(errs, resourceFieldRef(path.Child("resourceFieldRef"), ref)...)
	}
	if ref := from.ConfigMapKeyRef; ref != nil {
		errs = append(errs, keyRef(path.Child("configMapKeyRef"), ref.Name, ref.Key)...)
	}
	if ref := from.SecretKeyRef; ref != nil {
		errs = append(errs, keyRef(path.Child("secretKeyRef"), ref.Name, ref.Key)...)
	}
	if ref := from.FileKeyRef; ref != nil {
		at := path.Child("fileKeyRef")
		errs = append(errs, join(
			dnsLabel(at.Child("volumeName"), ref.VolumeName),
			required(at.Child("path"), ref.Path),
			noBacksteps(at.Child("path"), ref.Path),
			requiredForm(at.Child("key"), ref.Key, validation.IsRelaxedEnvVarName),
		)...)
	}
	return errs
}

func keyRef(path *field.Path, name, key string) field.ErrorList {
	return join(wellFormed(path.Child("name"), name, validation.IsDNS1123Subdomain),
		requiredForm(path.Child("key"), key, validation.IsConfigMapKey))
}

// envFields returns the fields of a pod that can be in an environment variable.
func envFields() []string {
	return []string{
		"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
		"status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
	}
}

// fileFields returns the fields of a pod that can be in a file. Only files can have whole maps.
func fileFields() []string {
	return []string{"metadata.name", "metadata.namespace", "metadata.uid", "metadata.labels", "metadata.annotations"}
}

// podFields returns the names of all fields of a pod that the downward API supports.
func podFields() []string {
	return append(envFields(), "metadata.labels", "metadata.annotations", "spec.host", "spec.restartPolicy",
		"spec.schedulerName", "status.phase")
}

func fieldRef(path *field.Path, ref *corev1.ObjectFieldSelector, fields []string) field.ErrorList {
	at := path.Child("fieldPath")
	switch {
	case ref.APIVersion == "":
		return required(path.Child("apiVersion"), "")
	case ref.FieldPath == "":
		return required(at, "")
	case ref.APIVersion != "v1":
		return errorList(field.Invalid(at, ref.FieldPath, "fields have names in version v1 only"))
	}
	whole, closed := strings.CutSuffix(ref.FieldPath, "']")
	name, key, subscripted := strings.Cut(whole, "['")
	switch {
	case !closed || !subscripted || name == "":
		if !slices.Contains(podFields(), ref.FieldPath) {
			return errorList(field.Invalid(at, ref.FieldPath, "is not a field of a pod"))
		}
		return supported(at, strings.Replace(ref.FieldPath, "spec.host", "spec.nodeName", 1), fields...)
	case name == "metadata.labels":
		return wellFormed(path, key, validation.IsQualifiedName)
	case name == "metadata.annotations":
		return wellFormed(path, strings.ToLower(key), validation.IsQualifiedName)
	default:
		return errorList(field.Invalid(at, ref.FieldPath, "only labels and annotations have keys"))
	}
}

// sizeUnits returns the possible divisors of an amount of bytes.
func sizeUnits() []string {
	return []string{"1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"}
}

func resourceFieldRef(path *field.Path, ref *corev1.ResourceFieldSelector) field.ErrorList {
	_, name, _ := strings.Cut(ref.Resource, ".")
	known := slices.Contains([]string{"cpu", "memory", "ephemeral-storage"}, name) ||
		strings.HasPrefix(name, corev1.ResourceHugePagesPrefix)
	known = known && (ref.Resource == "limits."+name || ref.Resource == "requests."+name)
	switch {
	case ref.Resource == "":
		return required(path.Child("resource"), "")
	case !known:
		return errorList(field.NotSupported(path.Child("resource"), ref.Resource, []string{
			"limits.cpu", "limits.ephemeral-storage", "limits.hugepages-*", "limits.memory",
			"requests.cpu", "requests.ephemeral-storage", "requests.hugepages-*", "requests.memory",
		}))
	case ref.Divisor.IsZero():
		return nil
	}
	units := sizeUnits()
	if name == "cpu" {
		units = []string{"1", "1m"}
	}
	return check(slices.Contains(units, ref.Divisor.String()), path.Child("divisor"), ref.Divisor.String(),
		"must be one of "+strings.Join(units, ", "))
}
