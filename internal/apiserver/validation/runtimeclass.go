package validation

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ValidateRuntimeClass checks a new RuntimeClass.
func ValidateRuntimeClass(c *nodev1.RuntimeClass) field.ErrorList {
	return append(metadata(&c.ObjectMeta, clusterScoped, apivalidation.NameIsDNSSubdomain), runtimeClass(c)...)
}

// ValidateRuntimeClassUpdate checks a change of a RuntimeClass. Its handler is immutable.
func ValidateRuntimeClassUpdate(c, old *nodev1.RuntimeClass) field.ErrorList {
	return join(
		metadataAgain(&c.ObjectMeta, &old.ObjectMeta, apivalidation.NameIsDNSSubdomain),
		runtimeClass(c),
		immutableField(field.NewPath("handler"), c.Handler, old.Handler),
	)
}

func runtimeClass(c *nodev1.RuntimeClass) field.ErrorList {
	errs := dnsLabel(field.NewPath("handler"), c.Handler)
	if c.Overhead != nil {
		errs = append(errs, containerResources(field.NewPath("overhead"),
			&corev1.ResourceRequirements{Limits: c.Overhead.PodFixed}, nil)...)
	}
	if c.Scheduling == nil {
		return errs
	}
	path := field.NewPath("scheduling")
	list := path.Child("tolerations")
	return join(errs,
		metav1validation.ValidateLabels(c.Scheduling.NodeSelector, path.Child("nodeSelector")),
		tolerations(list, c.Scheduling.Tolerations),
		distinct(list, c.Scheduling.Tolerations, "", func(t *corev1.Toleration) corev1.Toleration {
			return corev1.Toleration{Key: t.Key, Operator: t.Operator, Value: t.Value, Effect: t.Effect}
		}),
	)
}

// RuntimeClassWarnings returns warnings about deprecated labels of nodes.
func RuntimeClassWarnings(c, _ *nodev1.RuntimeClass) []string {
	if c.Scheduling == nil {
		return nil
	}
	var out []string
	for _, key := range slices.Sorted(maps.Keys(c.Scheduling.NodeSelector)) {
		if message, ok := deprecatedLabel(key); ok {
			out = append(out, fmt.Sprintf("%s: %s", field.NewPath("scheduling", "nodeSelector"), message))
		}
	}
	return out
}
