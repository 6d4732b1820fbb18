package validation

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxDataSize is the maximum size of the data in a ConfigMap or Secret, in bytes.
const maxDataSize = corev1.MaxSecretSize

// redacted replaces values that must not appear in messages.
const redacted = "<secret contents redacted>"

// ValidateConfigMap checks a new ConfigMap.
func ValidateConfigMap(m *corev1.ConfigMap) field.ErrorList {
	return append(metadata(&m.ObjectMeta, namespaced, apivalidation.NameIsDNSSubdomain), configMapData(m)...)
}

func configMapData(m *corev1.ConfigMap) field.ErrorList {
	var errs field.ErrorList
	size := 0
	for _, key := range slices.Sorted(maps.Keys(m.Data)) {
		at := field.NewPath("data").Key(key)
		errs = append(errs, wellFormed(at, key, validation.IsConfigMapKey)...)
		if _, both := m.BinaryData[key]; both {
			errs = append(errs, field.Invalid(at, key, "must not also be in `binaryData`"))
		}
		size += len(m.Data[key])
	}
	for _, key := range slices.Sorted(maps.Keys(m.BinaryData)) {
		errs = append(errs, wellFormed(field.NewPath("binaryData").Key(key), key, validation.IsConfigMapKey)...)
		size += len(m.BinaryData[key])
	}
	if size > maxDataSize {
		errs = append(errs, field.TooLong(field.NewPath("data"), "", maxDataSize))
	}
	return errs
}

// ValidateConfigMapUpdate checks a change of a ConfigMap.
func ValidateConfigMapUpdate(m, old *corev1.ConfigMap) field.ErrorList {
	return join(
		metadataAgain(&m.ObjectMeta, &old.ObjectMeta, apivalidation.NameIsDNSSubdomain),
		protectedFields(old.Immutable, m.Immutable,
			protectedField{"data", equality.Semantic.DeepEqual(m.Data, old.Data)},
			protectedField{"binaryData", reflect.DeepEqual(m.BinaryData, old.BinaryData)}),
		configMapData(m),
	)
}

// protectedField is a field that `immutable: true` protects.
type protectedField struct {
	field string
	same  bool
}

func protectedFields(old, now *bool, fields ...protectedField) field.ErrorList {
	if old == nil || !*old {
		return nil
	}
	var errs field.ErrorList
	for _, f := range append([]protectedField{{"immutable", now != nil && *now}}, fields...) {
		if !f.same {
			errs = append(errs, field.Forbidden(field.NewPath(f.field), "field is immutable when `immutable` is set"))
		}
	}
	return errs
}

// ValidateSecret checks a new Secret.
func ValidateSecret(s *corev1.Secret) field.ErrorList {
	return append(metadata(&s.ObjectMeta, namespaced, apivalidation.NameIsDNSSubdomain), secretData(s)...)
}

func secretData(s *corev1.Secret) field.ErrorList {
	var errs field.ErrorList
	size := 0
	for _, key := range slices.Sorted(maps.Keys(s.Data)) {
		errs = append(errs, wellFormed(field.NewPath("data").Key(key), key, validation.IsConfigMapKey)...)
		size += len(s.Data[key])
	}
	if size > maxDataSize {
		errs = append(errs, field.TooLong(field.NewPath("data"), "", maxDataSize))
	}
	return append(errs, secretType(s)...)
}

// secretType checks the keys that consumers of well-known types require.
func secretType(s *corev1.Secret) field.ErrorList {
	data := field.NewPath("data")
	needs := func(keys ...string) field.ErrorList {
		var errs field.ErrorList
		for _, key := range keys {
			if _, ok := s.Data[key]; !ok {
				errs = append(errs, field.Required(data.Key(key), "needed for type "+string(s.Type)))
			}
		}
		return errs
	}
	object := func(key string) field.ErrorList {
		if errs := needs(key); len(errs) > 0 {
			return errs
		}
		var parsed map[string]any
		return check(json.Unmarshal(s.Data[key], &parsed) == nil, data.Key(key), redacted, "must be a JSON object")
	}
	switch s.Type {
	case corev1.SecretTypeServiceAccountToken:
		return required(field.NewPath("metadata", "annotations").Key(corev1.ServiceAccountNameKey),
			s.Annotations[corev1.ServiceAccountNameKey])
	case corev1.SecretTypeDockercfg:
		return object(corev1.DockerConfigKey)
	case corev1.SecretTypeDockerConfigJson:
		return object(corev1.DockerConfigJsonKey)
	case corev1.SecretTypeBasicAuth:
		if errs := needs(corev1.BasicAuthUsernameKey, corev1.BasicAuthPasswordKey); len(errs) == 2 {
			return errs
		}
	case corev1.SecretTypeSSHAuth:
		return needs(corev1.SSHAuthPrivateKey)
	case corev1.SecretTypeTLS:
		return needs(corev1.TLSCertKey, corev1.TLSPrivateKeyKey)
	}
	return nil
}

// ValidateSecretUpdate checks a change of a Secret.
func ValidateSecretUpdate(s, old *corev1.Secret) field.ErrorList {
	return join(
		metadataUpdate(&s.ObjectMeta, &old.ObjectMeta),
		immutableField(field.NewPath("type"), s.Type, old.Type),
		protectedFields(old.Immutable, s.Immutable, protectedField{"data", equality.Semantic.DeepEqual(s.Data, old.Data)}),
		secretData(s),
	)
}

func containsSlash(text string) bool { return strings.Contains(text, "/") }
