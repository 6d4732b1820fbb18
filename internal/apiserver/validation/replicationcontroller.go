package validation

import (
	"fmt"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	core "github.com/allot-dev/allot/api/core/v1"
)

// ValidateReplicationController checks a new ReplicationController.
func ValidateReplicationController(r *core.ReplicationController) field.ErrorList {
	return append(
		metadata(&r.ObjectMeta, namespaced, apivalidation.NameIsDNSSubdomain),
		replicationControllerSpec(field.NewPath("spec"), &r.Spec)...)
}

// ValidateReplicationControllerUpdate checks a change of a ReplicationController, whose selector
// may change.
func ValidateReplicationControllerUpdate(r, old *core.ReplicationController) field.ErrorList {
	return append(
		metadataUpdate(&r.ObjectMeta, &old.ObjectMeta),
		replicationControllerSpec(field.NewPath("spec"), &r.Spec)...)
}

// ValidateReplicationControllerStatusUpdate checks the status that the controller reports.
func ValidateReplicationControllerStatusUpdate(r, old *core.ReplicationController) field.ErrorList {
	path, s := field.NewPath("status"), &r.Status
	return join(
		metadataUpdate(&r.ObjectMeta, &old.ObjectMeta),
		nonNegative(path.Child("observedGeneration"), s.ObservedGeneration),
		counts(path, s.Replicas, s.ReadyReplicas, s.AvailableReplicas,
			[]count{{"fullyLabeledReplicas", s.FullyLabeledReplicas, true}}),
	)
}

func replicationControllerSpec(path *field.Path, spec *core.ReplicationControllerSpec) field.ErrorList {
	errs := nonNegative(path.Child("minReadySeconds"), spec.MinReadySeconds)
	if spec.Replicas == nil {
		errs = append(errs, field.Required(path.Child("replicas"), ""))
	} else {
		errs = append(errs, nonNegative(path.Child("replicas"), *spec.Replicas)...)
	}
	if len(spec.Selector) == 0 {
		errs = append(errs, field.Required(path.Child("selector"), ""))
	}
	at := path.Child("template")
	if spec.Template == nil {
		return append(errs, field.Required(at, ""))
	}
	// The values of the selector are not checked by themselves: the labels of the template are.
	if selector := labels.SelectorFromSet(spec.Selector); !selector.Matches(labels.Set(spec.Template.Labels)) {
		errs = append(errs, field.Invalid(at.Child("metadata", "labels"), spec.Template.Labels,
			fmt.Sprintf("must match `selector` (%s)", selector)))
	}
	return append(errs, restartedTemplate(at, spec.Template)...)
}

// ValidatePodTemplate checks a new PodTemplate.
func ValidatePodTemplate(t *core.PodTemplate) field.ErrorList {
	return append(
		metadata(&t.ObjectMeta, namespaced, apivalidation.NameIsDNSSubdomain),
		podTemplate(field.NewPath("template"), &t.Template)...)
}

// ValidatePodTemplateUpdate checks a change of a PodTemplate.
func ValidatePodTemplateUpdate(t, old *core.PodTemplate) field.ErrorList {
	return append(metadataUpdate(&t.ObjectMeta, &old.ObjectMeta), podTemplate(field.NewPath("template"), &t.Template)...)
}
