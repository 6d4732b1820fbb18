package validation

import (
	"fmt"
	"slices"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// ValidateWorkload checks a new Workload (R3).
func ValidateWorkload(workload *scheduling.Workload) field.ErrorList {
	path := field.NewPath("spec")
	spec := &workload.Spec
	return join(
		metadata(&workload.ObjectMeta, namespaced, apivalidation.NameIsDNSSubdomain),
		controllerRef(path.Child("controllerRef"), spec.ControllerRef),
		podGroupTemplates(path.Child("podGroupTemplates"), spec.PodGroupTemplates),
		compositeTemplates(path.Child("compositePodGroupTemplates"), spec.CompositePodGroupTemplates, nil, false),
		templateTree(path, spec),
		oneTemplateList(path, spec),
	)
}

// oneTemplateList checks that a Workload has templates, of PodGroups or of CompositePodGroups.
func oneTemplateList(path *field.Path, spec *scheduling.WorkloadSpec) field.ErrorList {
	return union(path,
		member{"podGroupTemplates", len(spec.PodGroupTemplates) > 0},
		member{"compositePodGroupTemplates", len(spec.CompositePodGroupTemplates) > 0})
}

// podGroupTemplates checks a list of new templates.
func podGroupTemplates(path *field.Path, list []scheduling.PodGroupTemplate) field.ErrorList {
	if errs := atMost(path, len(list), schedulingv1beta1.WorkloadMaxPodGroupTemplates); len(errs) > 0 {
		return errs
	}
	return append(
		distinct(path, list, "", func(t *scheduling.PodGroupTemplate) string { return t.Name }),
		each(path, list, podGroupTemplate)...)
}

// ValidateWorkloadUpdate checks a change of a Workload. In the spec, only the minCount of a
// template's gang and the minGroupCount may change, as in 1.37. It applies to PodGroups that are
// created afterwards, which are copies.
func ValidateWorkloadUpdate(workload, old *scheduling.Workload) field.ErrorList {
	path := field.NewPath("spec")
	now, before := &workload.Spec, &old.Spec
	return join(
		metadataUpdate(&workload.ObjectMeta, &old.ObjectMeta),
		immutableField(path.Child("controllerRef"), now.ControllerRef, before.ControllerRef),
		templatesUpdate(path.Child("podGroupTemplates"), now.PodGroupTemplates, before.PodGroupTemplates),
		compositeTemplates(
			path.Child("compositePodGroupTemplates"),
			now.CompositePodGroupTemplates,
			before.CompositePodGroupTemplates,
			true,
		),
		templateTree(path, now),
		oneTemplateList(path, now),
	)
}

// templatesUpdate checks that the templates have the same names and immutable fields as before.
func templatesUpdate(path *field.Path, now, before []scheduling.PodGroupTemplate) field.ErrorList {
	named := func(list []scheduling.PodGroupTemplate, name string) *scheduling.PodGroupTemplate {
		if i := slices.IndexFunc(list, func(t scheduling.PodGroupTemplate) bool { return t.Name == name }); i >= 0 {
			return &list[i]
		}
		return nil
	}
	name := func(t scheduling.PodGroupTemplate) string { return t.Name }
	errs := append(
		atMost(path, len(now), schedulingv1beta1.WorkloadMaxPodGroupTemplates),
		sameNames(path, names(now, name), names(before, name))...)
	if len(errs) > 0 {
		return errs
	}
	return append(
		distinct(path, now, "", func(t *scheduling.PodGroupTemplate) string { return t.Name }),
		each(path, now, func(at *field.Path, t *scheduling.PodGroupTemplate) field.ErrorList {
			return templateUpdate(at, t, named(before, t.Name))
		})...,
	)
}

// sameNames checks that no template was added or removed.
func sameNames(path *field.Path, now, before []string) field.ErrorList {
	var errs field.ErrorList
	for i := range now {
		if !slices.Contains(before, now[i]) {
			errs = append(errs, field.Forbidden(path.Index(i), "item may not be added"))
		}
	}
	for i := range before {
		if !slices.Contains(now, before[i]) {
			errs = append(errs, field.Forbidden(path, fmt.Sprintf("item %q may not be removed", before[i])))
		}
	}
	return errs
}

func templateUpdate(path *field.Path, now, before *scheduling.PodGroupTemplate) field.ErrorList {
	return join(
		policyUpdate(path.Child("schedulingPolicy"), &now.SchedulingPolicy, &before.SchedulingPolicy),
		immutableField(path.Child("schedulingConstraints"), now.SchedulingConstraints, before.SchedulingConstraints),
		immutableField(path.Child("resourceClaims"), now.ResourceClaims, before.ResourceClaims),
		immutableField(path.Child("disruptionMode"), now.DisruptionMode, before.DisruptionMode),
		immutableField(path.Child("priorityClassName"), now.PriorityClassName, before.PriorityClassName),
		immutableField(path.Child("priority"), now.Priority, before.Priority),
		immutableField(path.Child("preemptionPolicy"), now.PreemptionPolicy, before.PreemptionPolicy),
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
