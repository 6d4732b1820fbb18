package validation

import (
	"slices"

	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// compositeTemplates checks a list of templates; before is the list before an update, or nil.
func compositeTemplates(
	path *field.Path,
	now, before []scheduling.CompositePodGroupTemplate,
	update bool,
) field.ErrorList {
	if errs := compositeListUpdate(path, now, before, update); len(errs) > 0 {
		return errs
	}
	return append(
		distinct(path, now, "", func(t *scheduling.CompositePodGroupTemplate) string { return t.Name }),
		each(path, now, func(at *field.Path, t *scheduling.CompositePodGroupTemplate) field.ErrorList {
			old := compositeNamed(before, t.Name)
			if old != nil && equality.Semantic.DeepEqual(t, old) {
				return nil
			}
			return compositeTemplate(at, t, old)
		})...,
	)
}

// compositeListUpdate checks the number of templates, and that none is added or removed.
func compositeListUpdate(
	path *field.Path,
	now, before []scheduling.CompositePodGroupTemplate,
	update bool,
) field.ErrorList {
	errs := atMost(path, len(now), schedulingv1beta1.WorkloadMaxPodGroupTemplates)
	if !update {
		return errs
	}
	name := func(t scheduling.CompositePodGroupTemplate) string { return t.Name }
	return append(errs, sameNames(path, names(now, name), names(before, name))...)
}

func compositeNamed(list []scheduling.CompositePodGroupTemplate, name string) *scheduling.CompositePodGroupTemplate {
	if i := slices.IndexFunc(list, func(t scheduling.CompositePodGroupTemplate) bool { return t.Name == name }); i >= 0 {
		return &list[i]
	}
	return nil
}

// compositeTemplate checks one template with the templates in it. The rules for
// upstream's fields are upstream's; claims of trees are allot's.
func compositeTemplate(path *field.Path, now, before *scheduling.CompositePodGroupTemplate) field.ErrorList {
	pods, composites := path.Child("podGroupTemplates"), path.Child("compositePodGroupTemplates")
	if before == nil {
		return join(
			declared(schedulingv1alpha3.Validate_CompositePodGroupTemplate, path, withoutChildren(now), nil),
			groupClaims(path.Child("resourceClaims"), now.ResourceClaims),
			podGroupTemplates(pods, now.PodGroupTemplates),
			compositeTemplates(composites, now.CompositePodGroupTemplates, nil, false),
		)
	}
	return join(
		declared(schedulingv1alpha3.Validate_CompositePodGroupTemplate, path, withoutChildren(now), withoutChildren(before)),
		immutableField(path.Child("resourceClaims"), now.ResourceClaims, before.ResourceClaims),
		templatesUpdate(pods, now.PodGroupTemplates, before.PodGroupTemplates),
		compositeTemplates(composites, now.CompositePodGroupTemplates, before.CompositePodGroupTemplates, true),
	)
}

// withoutChildren returns a template as upstream's type of the version that has generated rules.
func withoutChildren(t *scheduling.CompositePodGroupTemplate) *schedulingv1alpha3.CompositePodGroupTemplate {
	out := &schedulingv1alpha3.CompositePodGroupTemplate{
		Name: t.Name,
		SchedulingPolicy: schedulingv1alpha3.CompositePodGroupSchedulingPolicy{
			Basic: (*schedulingv1alpha3.CompositeBasicSchedulingPolicy)(t.SchedulingPolicy.Basic),
			Gang:  (*schedulingv1alpha3.CompositeGangSchedulingPolicy)(t.SchedulingPolicy.Gang),
		},
		PriorityClassName: t.PriorityClassName,
		Priority:          t.Priority,
		PreemptionPolicy:  (*schedulingv1alpha3.PreemptionPolicy)(t.PreemptionPolicy),
	}
	if c := t.SchedulingConstraints; c != nil {
		out.SchedulingConstraints = &schedulingv1alpha3.CompositePodGroupSchedulingConstraints{}
		for _, constraint := range c.Topology {
			out.SchedulingConstraints.Topology = append(
				out.SchedulingConstraints.Topology,
				schedulingv1alpha3.TopologyConstraint(constraint),
			)
		}
	}
	if m := t.DisruptionMode; m != nil {
		out.DisruptionMode = &schedulingv1alpha3.CompositeDisruptionMode{
			Single: (*schedulingv1alpha3.SingleCompositeDisruptionMode)(m.Single),
			All:    (*schedulingv1alpha3.AllCompositeDisruptionMode)(m.All),
		}
	}
	return out
}

// templateTree checks what the templates of a Workload have in common, in new and changed ones.
func templateTree(path *field.Path, spec *scheduling.WorkloadSpec) field.ErrorList {
	seen := map[string]bool{}
	for i := range spec.PodGroupTemplates {
		seen[spec.PodGroupTemplates[i].Name] = true
	}
	composites := path.Child("compositePodGroupTemplates")
	return join(
		namedOnce(path, spec.CompositePodGroupTemplates, seen),
		each(
			composites,
			spec.CompositePodGroupTemplates,
			func(at *field.Path, t *scheduling.CompositePodGroupTemplate) field.ErrorList {
				return check(depth(t) < schedulingv1beta1.WorkloadMaxTreeDepth, at, "", "maximum template hierarchy depth is 4")
			},
		),
		onePriority(path, spec),
		each(composites, spec.CompositePodGroupTemplates, hasChildren),
	)
}

// namedOnce returns an error for each name that a template in another list has too. Two in one list
// are an error of the list.
func namedOnce(path *field.Path, list []scheduling.CompositePodGroupTemplate, seen map[string]bool) field.ErrorList {
	at := path.Child("compositePodGroupTemplates")
	errs := duplicatesAcross(at, names(list, func(t scheduling.CompositePodGroupTemplate) string { return t.Name }), seen)
	return append(errs, each(at, list, func(at *field.Path, t *scheduling.CompositePodGroupTemplate) field.ErrorList {
		pods := names(t.PodGroupTemplates, func(p scheduling.PodGroupTemplate) string { return p.Name })
		return append(duplicatesAcross(at.Child("podGroupTemplates"), pods, seen), namedOnce(at, t.CompositePodGroupTemplates, seen)...)
	})...)
}

// duplicatesAcross returns an error for each name of a list that was seen in another, and adds all.
func duplicatesAcross(path *field.Path, list []string, seen map[string]bool) field.ErrorList {
	var errs field.ErrorList
	for i, name := range list {
		if seen[name] {
			errs = append(errs, field.Duplicate(path.Index(i).Child("name"), name))
		}
	}
	for _, name := range list {
		seen[name] = true
	}
	return errs
}

func names[T any](list []T, name func(T) string) []string {
	out := make([]string, len(list))
	for i := range list {
		out[i] = name(list[i])
	}
	return out
}

// depth returns the number of levels of composite templates.
func depth(t *scheduling.CompositePodGroupTemplate) int {
	most := 0
	for i := range t.CompositePodGroupTemplates {
		most = max(most, depth(&t.CompositePodGroupTemplates[i]))
	}
	return 1 + most
}

func hasChildren(path *field.Path, t *scheduling.CompositePodGroupTemplate) field.ErrorList {
	children := len(t.PodGroupTemplates) + len(t.CompositePodGroupTemplates)
	return append(
		check(children > 0, path, t.Name, "must have at least one child PodGroupTemplate or CompositePodGroupTemplate"),
		each(path.Child("compositePodGroupTemplates"), t.CompositePodGroupTemplates, hasChildren)...)
}

// onePriority checks that all groups of a Workload have the same priority, as 1.37 does.
func onePriority(path *field.Path, spec *scheduling.WorkloadSpec) field.ErrorList {
	type priority struct {
		class string
		value *int32
	}
	var all []priority
	add := func(list []scheduling.PodGroupTemplate) {
		for i := range list {
			all = append(all, priority{list[i].PriorityClassName, list[i].Priority})
		}
	}
	add(spec.PodGroupTemplates)
	var walk func(list []scheduling.CompositePodGroupTemplate)
	walk = func(list []scheduling.CompositePodGroupTemplate) {
		for i := range list {
			all = append(all, priority{list[i].PriorityClassName, list[i].Priority})
			add(list[i].PodGroupTemplates)
			walk(list[i].CompositePodGroupTemplates)
		}
	}
	walk(spec.CompositePodGroupTemplates)
	differs := slices.ContainsFunc(all, func(p priority) bool {
		return p.class != all[0].class || !equality.Semantic.DeepEqual(p.value, all[0].value)
	})
	return check(!differs, path, nil, "`priorityClassName` and `priority` must be the same in all templates")
}
