package validation

import (
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// ValidateWorkload checks a new Workload (R3).
func ValidateWorkload(workload *scheduling.Workload) field.ErrorList {
	path := field.NewPath("spec")
	spec := &workload.Spec
	templates := path.Child("podGroupTemplates")
	errs := join(
		metadata(&workload.ObjectMeta, namespaced, apivalidation.NameIsDNSSubdomain),
		controllerRef(path.Child("controllerRef"), spec.ControllerRef),
		atMost(templates, len(spec.PodGroupTemplates), schedulingv1beta1.WorkloadMaxPodGroupTemplates),
		each(templates, spec.PodGroupTemplates, podGroupTemplate),
		unique(templates, spec.PodGroupTemplates, "name", func(t *scheduling.PodGroupTemplate) string { return t.Name }),
		onePriority(templates, spec.PodGroupTemplates),
	)
	if len(spec.CompositePodGroupTemplates) > 0 {
		errs = append(errs, field.Forbidden(path.Child("compositePodGroupTemplates"), notServed))
	}
	if len(spec.PodGroupTemplates) == 0 {
		errs = append(errs, field.Required(templates, ""))
	}
	return errs
}

// ValidateWorkloadUpdate checks a change of a Workload, whose spec is immutable:
// PodGroups are copies of what it says, which a change would not reach.
func ValidateWorkloadUpdate(workload, old *scheduling.Workload) field.ErrorList {
	path := field.NewPath("spec")
	now, before := &workload.Spec, &old.Spec
	return join(
		metadataUpdate(&workload.ObjectMeta, &old.ObjectMeta),
		same(path.Child("controllerRef"), now.ControllerRef, before.ControllerRef),
		same(path.Child("podGroupTemplates"), now.PodGroupTemplates, before.PodGroupTemplates),
		same(path.Child("compositePodGroupTemplates"), now.CompositePodGroupTemplates, before.CompositePodGroupTemplates),
	)
}

func controllerRef(path *field.Path, ref *schedulingv1beta1.TypedLocalObjectReference) field.ErrorList {
	if ref == nil {
		return nil
	}
	return join(
		optionalForm(path.Child("apiGroup"), ref.APIGroup, validation.IsDNS1123Subdomain),
		pathSegment(path.Child("kind"), ref.Kind),
		pathSegment(path.Child("name"), ref.Name),
	)
}

func podGroupTemplate(path *field.Path, t *scheduling.PodGroupTemplate) field.ErrorList {
	return join(
		dnsLabel(path.Child("name"), t.Name),
		policy(path.Child("schedulingPolicy"), &t.SchedulingPolicy),
		constraints(path.Child("schedulingConstraints"), t.SchedulingConstraints),
		groupClaims(path.Child("resourceClaims"), t.ResourceClaims),
		disruptionMode(path.Child("disruptionMode"), t.DisruptionMode),
		groupPriority(path, t.PriorityClassName, t.Priority, t.PreemptionPolicy),
	)
}

// onePriority holds all groups of a Workload to one priority, as 1.37 does.
func onePriority(path *field.Path, templates []scheduling.PodGroupTemplate) field.ErrorList {
	return each(path, templates, func(at *field.Path, t *scheduling.PodGroupTemplate) field.ErrorList {
		first := &templates[0]
		if t.PriorityClassName == first.PriorityClassName && equality.Semantic.DeepEqual(t.Priority, first.Priority) {
			return nil
		}
		return one(field.Invalid(at.Child("priorityClassName"), t.PriorityClassName, "must be the same in all templates, as must `priority`"))
	})
}
