package validation

import (
	appsv1 "k8s.io/api/apps/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	apps "github.com/allot-dev/allot/api/apps/v1"
)

// ValidateDaemonSet checks a new DaemonSet.
func ValidateDaemonSet(d *apps.DaemonSet) field.ErrorList {
	return append(
		metadata(&d.ObjectMeta, namespaced, apivalidation.NameIsDNSSubdomain),
		daemonSetSpec(field.NewPath("spec"), &d.Spec)...)
}

// ValidateDaemonSetUpdate checks a change of a DaemonSet.
func ValidateDaemonSetUpdate(d, old *apps.DaemonSet) field.ErrorList {
	path := field.NewPath("spec")
	return join(
		metadataUpdate(&d.ObjectMeta, &old.ObjectMeta),
		daemonSetSpec(path, &d.Spec),
		immutableField(path.Child("selector"), d.Spec.Selector, old.Spec.Selector),
	)
}

// ValidateDaemonSetStatusUpdate checks the status that the controller reports.
func ValidateDaemonSetStatusUpdate(d, old *apps.DaemonSet) field.ErrorList {
	path, s := field.NewPath("status"), &d.Status
	errs := join(
		metadataUpdate(&d.ObjectMeta, &old.ObjectMeta),
		nonNegative(path.Child("observedGeneration"), s.ObservedGeneration),
		collisions(path, s.CollisionCount, old.Status.CollisionCount),
	)
	for _, c := range []count{
		{field: "currentNumberScheduled", value: s.CurrentNumberScheduled},
		{field: "numberMisscheduled", value: s.NumberMisscheduled},
		{field: "desiredNumberScheduled", value: s.DesiredNumberScheduled},
		{field: "numberReady", value: s.NumberReady},
		{field: "updatedNumberScheduled", value: s.UpdatedNumberScheduled},
		{field: "numberAvailable", value: s.NumberAvailable},
		{field: "numberUnavailable", value: s.NumberUnavailable},
	} {
		errs = append(errs, nonNegative(path.Child(c.field), c.value)...)
	}
	return errs
}

func daemonSetSpec(path *field.Path, spec *apps.DaemonSetSpec) field.ErrorList {
	return join(
		nonNegative(path.Child("minReadySeconds"), spec.MinReadySeconds),
		nonNegative(path.Child("revisionHistoryLimit"), ptr.Deref(spec.RevisionHistoryLimit, 0)),
		when(spec.Selector != nil, func() field.ErrorList { return requiredSelector(path.Child("selector"), spec.Selector) }),
		restartedTemplate(path.Child("template"), &spec.Template),
		matchingLabels(path.Child("template"), spec.Selector, &spec.Template),
		daemonSetStrategy(path.Child("updateStrategy"), &spec.UpdateStrategy),
	)
}

func daemonSetStrategy(path *field.Path, strategy *appsv1.DaemonSetUpdateStrategy) field.ErrorList {
	switch strategy.Type {
	case appsv1.OnDeleteDaemonSetStrategyType:
		return nil
	case appsv1.RollingUpdateDaemonSetStrategyType:
		rolling := path.Child("rollingUpdate")
		if strategy.RollingUpdate == nil {
			return errorList(field.Required(rolling, ""))
		}
		return daemonRollingUpdate(rolling, strategy.RollingUpdate)
	default:
		return oneOf(path, strategy.Type, appsv1.RollingUpdateDaemonSetStrategyType, appsv1.OnDeleteDaemonSetStrategyType)
	}
}

// daemonRollingUpdate checks that exactly one of the two numbers is positive: on a node, either the
// old pod is deleted first, or the new one is created first.
func daemonRollingUpdate(path *field.Path, u *appsv1.RollingUpdateDaemonSet) field.ErrorList {
	var errs field.ErrorList
	set := map[string]bool{}
	for _, s := range []struct {
		field string
		value intstr.IntOrString
	}{{"maxUnavailable", ptr.Deref(u.MaxUnavailable, intstr.IntOrString{})},
		{"maxSurge", ptr.Deref(u.MaxSurge, intstr.IntOrString{})}} {
		at := path.Child(s.field)
		faults := intOrPercent(at, s.value)
		errs = append(errs, faults...)
		if len(faults) > 0 {
			set[s.field] = s.value.IntValue() != 0 // text that is no percentage counts as the number that it may be
			continue
		}
		n, _ := intstr.GetScaledValueFromIntOrPercent(&s.value, 100, true)
		set[s.field] = n != 0
		errs = append(
			errs,
			check(s.value.Type == intstr.Int || n <= 100, at, s.value.String(), "must not be greater than 100%")...)
	}
	switch {
	case set["maxUnavailable"] && set["maxSurge"]:
		errs = append(errs,
			field.Invalid(path.Child("maxSurge"), u.MaxSurge.String(), "may not be set where `maxUnavailable` is not 0"))
	case !set["maxUnavailable"] && !set["maxSurge"]:
		errs = append(errs, field.Required(path.Child("maxUnavailable"), "may not be 0 where `maxSurge` is 0"))
	}
	return errs
}
