package validation

import (
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	core "github.com/allot-dev/allot/api/core/v1"
)

// ValidatePod checks a new pod.
func ValidatePod(pod *core.Pod) field.ErrorList {
	spec := field.NewPath("spec")
	return join(
		forbidden(spec, "may not be set for a new pod", member{"ephemeralContainers", len(pod.Spec.EphemeralContainers) > 0}),
		metadata(&pod.ObjectMeta, namespaced, apivalidation.NameIsDNSSubdomain),
		podSpec(spec, &pod.Spec),
		podOnly(spec, &pod.Spec),
	)
}

// podOnly holds for pods but not for pod templates, in which a mistake was
// accepted for too long to be refused now.
func podOnly(path *field.Path, spec *core.PodSpec) field.ErrorList {
	var errs field.ErrorList
	if grace := spec.TerminationGracePeriodSeconds; grace != nil {
		errs = append(errs, nonNegative(path.Child("terminationGracePeriodSeconds"), *grace)...)
	}
	for _, list := range containerLists(spec) {
		for i := range list.containers {
			errs = append(errs, trimmed(path.Child(list.field).Index(i).Child("image"), list.containers[i].Image)...)
		}
	}
	if spec.NodeName != "" && len(spec.SchedulingGates) > 0 {
		errs = append(errs, field.Forbidden(path.Child("nodeName"), "may not be set while `schedulingGates` is not empty"))
	}
	return errs
}

// nodeName is the rule for names of nodes, wherever a pod refers to one.
func nodeName(path *field.Path, name string) field.ErrorList {
	return optionalForm(path, name, validation.IsDNS1123Subdomain)
}
