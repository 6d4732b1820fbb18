package validation

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	maxClassParameters    = 512
	maxClassParametersLen = 256 << 10
)

// ValidateStorageClass checks a new StorageClass.
func ValidateStorageClass(c *storagev1.StorageClass) field.ErrorList {
	return append(metadata(&c.ObjectMeta, clusterScoped, apivalidation.NameIsDNSSubdomain), storageClass(c)...)
}

// ValidateStorageClassUpdate checks a change of a StorageClass. What new volumes are like is
// immutable.
func ValidateStorageClassUpdate(c, old *storagev1.StorageClass) field.ErrorList {
	return join(
		metadataAgain(&c.ObjectMeta, &old.ObjectMeta, apivalidation.NameIsDNSSubdomain),
		storageClass(c),
		immutableField(field.NewPath("parameters"), c.Parameters, old.Parameters),
		immutableField(field.NewPath("provisioner"), c.Provisioner, old.Provisioner),
		immutableField(field.NewPath("reclaimPolicy"), c.ReclaimPolicy, old.ReclaimPolicy),
		immutableField(field.NewPath("volumeBindingMode"), c.VolumeBindingMode, old.VolumeBindingMode),
	)
}

func storageClass(c *storagev1.StorageClass) field.ErrorList {
	mode := field.NewPath("volumeBindingMode")
	errs := join(
		requiredForm(field.NewPath("provisioner"), strings.ToLower(c.Provisioner), validation.IsQualifiedName),
		storageParameters(field.NewPath("parameters"), c.Parameters),
		when(c.ReclaimPolicy != nil && *c.ReclaimPolicy != "", func() field.ErrorList {
			return supported(field.NewPath("reclaimPolicy"), *c.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete,
				corev1.PersistentVolumeReclaimRetain)
		}),
		allowedTopologies(field.NewPath("allowedTopologies"), c.AllowedTopologies),
	)
	if c.VolumeBindingMode == nil {
		return append(errs, field.Required(mode, ""))
	}
	return append(errs, supported(mode, *c.VolumeBindingMode, storagev1.VolumeBindingImmediate,
		storagev1.VolumeBindingWaitForFirstConsumer)...)
}

func storageParameters(path *field.Path, parameters map[string]string) field.ErrorList {
	if len(parameters) > maxClassParameters {
		return errorList(field.TooLong(path, "", maxClassParameters))
	}
	var errs field.ErrorList
	if _, ok := parameters[""]; ok {
		errs = append(errs, field.Invalid(path, "", "field can not be empty."))
	}
	return append(errs, textsWithin(path, parameters, maxClassParametersLen)...)
}

// textsWithin checks the number of bytes of all keys and values.
func textsWithin(path *field.Path, texts map[string]string, limit int) field.ErrorList {
	size := 0
	for key, value := range texts {
		size += len(key) + len(value)
	}
	if size <= limit {
		return nil
	}
	return errorList(field.TooLong(path, "", limit))
}

// topologyTerm has the values of each label that a topology allows.
type topologyTerm map[string]sets.Set[string]

// allowedTopologies checks that terms are different. A term without labels counts as a repetition,
// as in Kubernetes.
func allowedTopologies(path *field.Path, terms []corev1.TopologySelectorTerm) field.ErrorList {
	var earlier []topologyTerm
	return each(path, terms, func(at *field.Path, t *corev1.TopologySelectorTerm) field.ErrorList {
		labels := at.Child("matchLabelExpressions")
		term := topologyTerm{}
		errs := each(labels, t.MatchLabelExpressions,
			func(at *field.Path, r *corev1.TopologySelectorLabelRequirement) field.ErrorList {
				errs := topologyRequirement(at, r)
				if _, ok := term[r.Key]; ok {
					errs = append(errs, field.Duplicate(at.Child("key"), r.Key))
				}
				term[r.Key] = sets.New(r.Values...)
				return errs
			})
		if len(term) == 0 || slices.ContainsFunc(earlier, func(e topologyTerm) bool {
			return equality.Semantic.DeepEqual(e, term)
		}) {
			errs = append(errs, field.Duplicate(labels, ""))
		}
		earlier = append(earlier, term)
		return errs
	})
}

func topologyRequirement(path *field.Path, r *corev1.TopologySelectorLabelRequirement) field.ErrorList {
	values := path.Child("values")
	errs := metav1validation.ValidateLabelName(r.Key, path.Child("key"))
	if len(r.Values) == 0 {
		errs = append(errs, field.Required(values, ""))
	}
	return append(errs, distinct(values, r.Values, "", func(v *string) string { return *v })...)
}

// StorageClassWarnings returns warnings about deprecated labels of nodes.
func StorageClassWarnings(c, _ *storagev1.StorageClass) []string {
	var out []string
	for i, term := range c.AllowedTopologies {
		for j, r := range term.MatchLabelExpressions {
			if message, ok := deprecatedLabel(r.Key); ok {
				at := field.NewPath("allowedTopologies").Index(i).Child("matchLabelExpressions").Index(j).Child("key")
				out = append(out, fmt.Sprintf("%s: %s", at, message))
			}
		}
	}
	return out
}
