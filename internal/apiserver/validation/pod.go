package validation

import (
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	core "github.com/allot-dev/allot/api/core/v1"
)

// ValidatePod checks a new pod.
func ValidatePod(pod *core.Pod) field.ErrorList {
	spec := field.NewPath("spec")
	errs := join(
		metadata(&pod.ObjectMeta, namespaced, apivalidation.NameIsDNSSubdomain),
		podAnnotations(field.NewPath("metadata", "annotations"), pod.Annotations, &pod.Spec),
		podSpec(spec, &pod.Spec, &pod.ObjectMeta),
		podOnly(spec, &pod.Spec),
		profilesAgree(spec, pod),
		forbidden(spec, "may not be set for a new pod", member{"ephemeralContainers", len(pod.Spec.EphemeralContainers) > 0}),
	)
	if pod.Spec.NodeName != "" && len(pod.Spec.SchedulingGates) > 0 {
		errs = append(errs, field.Forbidden(spec.Child("nodeName"), "may not be set while `schedulingGates` is not empty"))
	}
	return errs
}

// podOnly checks what applies to pods but not to pod templates, where invalid values were accepted
// for too long to be rejected now.
func podOnly(path *field.Path, spec *core.PodSpec) field.ErrorList {
	var errs field.ErrorList
	if grace := spec.TerminationGracePeriodSeconds; grace != nil {
		errs = append(errs, nonNegative(path.Child("terminationGracePeriodSeconds"), *grace)...)
	}
	image := func(at *field.Path, c *corev1.Container) field.ErrorList { return trimmed(at.Child("image"), c.Image) }
	return join(errs, each(path.Child("containers"), spec.Containers, image),
		each(path.Child("initContainers"), spec.InitContainers, image))
}

// nodeName checks a reference to a node.
func nodeName(path *field.Path, name string) field.ErrorList {
	return optionalForm(path, name, validation.IsDNS1123Subdomain)
}
