package validation

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxUserPriority is the highest priority that is not a system priority.
const maxUserPriority = 1_000_000_000

// systemPriorities returns the classes that may have the reserved prefix, with the values on which
// components rely.
func systemPriorities() map[string]int32 {
	return map[string]int32{
		"system-cluster-critical": 2 * maxUserPriority,
		"system-node-critical":    2*maxUserPriority + 1000,
	}
}

// ValidatePriorityClass checks a new PriorityClass.
func ValidatePriorityClass(class *schedulingv1.PriorityClass) field.ErrorList {
	errs := join(
		metadata(&class.ObjectMeta, clusterScoped, apivalidation.NameIsDNSSubdomain),
		optionalOneOf(field.NewPath("preemptionPolicy"), class.PreemptionPolicy, corev1.PreemptLowerPriority,
			corev1.PreemptNever),
	)
	value, known := systemPriorities()[class.Name]
	switch {
	case known && class.Value == value && !class.GlobalDefault:
	case strings.HasPrefix(class.Name, "system-"):
		errs = append(errs, field.Forbidden(field.NewPath("metadata", "name"), "the prefix `system-` is reserved"))
	case class.Value > maxUserPriority:
		errs = append(errs,
			field.Forbidden(field.NewPath("value"), fmt.Sprintf("must be less than or equal to %d", maxUserPriority)))
	}
	return errs
}

// ValidatePriorityClassUpdate checks a change of a PriorityClass. Value and policy are immutable,
// because pods have copies of them.
func ValidatePriorityClassUpdate(class, old *schedulingv1.PriorityClass) field.ErrorList {
	return join(
		metadataUpdate(&class.ObjectMeta, &old.ObjectMeta),
		when(class.Value != old.Value, func() field.ErrorList {
			return errorList(field.Forbidden(field.NewPath("value"), "may not be changed in an update."))
		}),
		immutableField(field.NewPath("preemptionPolicy"), class.PreemptionPolicy, old.PreemptionPolicy),
	)
}
