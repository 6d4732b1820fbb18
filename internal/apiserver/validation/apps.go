package validation

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	apps "github.com/allot-dev/allot/api/apps/v1"
	core "github.com/allot-dev/allot/api/core/v1"
)

// ValidateDeployment checks a new Deployment.
func ValidateDeployment(d *apps.Deployment) field.ErrorList {
	return append(
		metadata(&d.ObjectMeta, namespaced, apivalidation.NameIsDNSSubdomain),
		deploymentSpec(field.NewPath("spec"), &d.Spec)...)
}

// ValidateDeploymentUpdate checks a change of a Deployment. The selector is immutable, because the
// existing ReplicaSets are found by it.
func ValidateDeploymentUpdate(d, old *apps.Deployment) field.ErrorList {
	path := field.NewPath("spec")
	return join(
		metadataUpdate(&d.ObjectMeta, &old.ObjectMeta),
		deploymentSpec(path, &d.Spec),
		immutableField(path.Child("selector"), d.Spec.Selector, old.Spec.Selector),
	)
}

// ValidateDeploymentStatusUpdate checks the status that the controller reports.
func ValidateDeploymentStatusUpdate(d, old *apps.Deployment) field.ErrorList {
	path, s := field.NewPath("status"), &d.Status
	return join(
		metadataUpdate(&d.ObjectMeta, &old.ObjectMeta),
		nonNegative(path.Child("observedGeneration"), s.ObservedGeneration),
		counts(path, s.Replicas, s.ReadyReplicas, s.AvailableReplicas, []count{
			{"updatedReplicas", s.UpdatedReplicas, true},
			{"unavailableReplicas", s.UnavailableReplicas, false},
			{"terminatingReplicas", ptr.Deref(s.TerminatingReplicas, 0), false},
		}),
		collisions(path, s.CollisionCount, old.Status.CollisionCount),
	)
}

func deploymentSpec(path *field.Path, spec *apps.DeploymentSpec) field.ErrorList {
	errs := join(
		nonNegative(path.Child("replicas"), ptr.Deref(spec.Replicas, 0)),
		nonNegative(path.Child("minReadySeconds"), spec.MinReadySeconds),
		nonNegative(path.Child("revisionHistoryLimit"), ptr.Deref(spec.RevisionHistoryLimit, 0)),
		workloadTemplate(path, spec.Selector, &spec.Template),
		deploymentStrategy(path.Child("strategy"), &spec.Strategy),
	)
	if deadline := spec.ProgressDeadlineSeconds; deadline != nil {
		at := path.Child("progressDeadlineSeconds")
		errs = append(errs, nonNegative(at, *deadline)...)
		errs = append(errs, check(*deadline > spec.MinReadySeconds, at, *deadline, "must be greater than minReadySeconds")...)
	}
	return errs
}

func deploymentStrategy(path *field.Path, strategy *appsv1.DeploymentStrategy) field.ErrorList {
	rolling := path.Child("rollingUpdate")
	switch strategy.Type {
	case appsv1.RecreateDeploymentStrategyType:
		if strategy.RollingUpdate != nil {
			return errorList(field.Forbidden(rolling, "may not be set where `type` is Recreate"))
		}
		return nil
	case appsv1.RollingUpdateDeploymentStrategyType:
		if strategy.RollingUpdate == nil {
			return errorList(field.Required(rolling, ""))
		}
		return rollingUpdate(rolling, strategy.RollingUpdate)
	default:
		return oneOf(path, strategy.Type, appsv1.RecreateDeploymentStrategyType, appsv1.RollingUpdateDeploymentStrategyType)
	}
}

func rollingUpdate(path *field.Path, u *appsv1.RollingUpdateDeployment) field.ErrorList {
	unavailable, surge := ptr.Deref(u.MaxUnavailable, intstr.IntOrString{}), ptr.Deref(u.MaxSurge, intstr.IntOrString{})
	errs := join(
		intOrPercent(path.Child("maxUnavailable"), unavailable),
		intOrPercent(path.Child("maxSurge"), surge),
	)
	// Percentages of 100 tell the two forms apart: a plain number stays as it is, and text that is no
	// percentage is 0.
	u100, _ := intstr.GetScaledValueFromIntOrPercent(&unavailable, 100, true)
	s100, _ := intstr.GetScaledValueFromIntOrPercent(&surge, 100, true)
	if unavailable.Type == intstr.String && u100 > 100 {
		errs = append(errs,
			field.Invalid(path.Child("maxUnavailable"), unavailable.String(), "must not be greater than 100%"))
	}
	if u100 == 0 && s100 == 0 && unavailable.IntValue() == 0 && surge.IntValue() == 0 {
		errs = append(errs,
			field.Invalid(path.Child("maxUnavailable"), unavailable.String(), "may not be 0 where `maxSurge` is 0"))
	}
	return errs
}

// intOrPercent checks a number of pods, or a percentage of them.
func intOrPercent(path *field.Path, value intstr.IntOrString) field.ErrorList {
	if value.Type == intstr.Int {
		return nonNegative(path, value.IntVal)
	}
	v, err := intstr.GetScaledValueFromIntOrPercent(&value, 100, true)
	return check(err == nil && v >= 0, path, value.StrVal,
		"must be a non-negative integer or a percentage (such as 5 or 25%)")
}

// ValidateReplicaSet checks a new ReplicaSet.
func ValidateReplicaSet(r *apps.ReplicaSet) field.ErrorList {
	return append(
		metadata(&r.ObjectMeta, namespaced, apivalidation.NameIsDNSSubdomain),
		replicaSetSpec(field.NewPath("spec"), &r.Spec)...)
}

// ValidateReplicaSetUpdate checks a change of a ReplicaSet.
func ValidateReplicaSetUpdate(r, old *apps.ReplicaSet) field.ErrorList {
	path := field.NewPath("spec")
	return join(
		metadataUpdate(&r.ObjectMeta, &old.ObjectMeta),
		replicaSetSpec(path, &r.Spec),
		immutableField(path.Child("selector"), r.Spec.Selector, old.Spec.Selector),
	)
}

// ValidateReplicaSetStatusUpdate checks the status that the controller reports.
func ValidateReplicaSetStatusUpdate(r, old *apps.ReplicaSet) field.ErrorList {
	path, s := field.NewPath("status"), &r.Status
	return join(
		metadataUpdate(&r.ObjectMeta, &old.ObjectMeta),
		nonNegative(path.Child("observedGeneration"), s.ObservedGeneration),
		counts(path, s.Replicas, s.ReadyReplicas, s.AvailableReplicas, []count{
			{"fullyLabeledReplicas", s.FullyLabeledReplicas, true},
			{"terminatingReplicas", ptr.Deref(s.TerminatingReplicas, 0), false},
		}),
	)
}

func replicaSetSpec(path *field.Path, spec *apps.ReplicaSetSpec) field.ErrorList {
	return join(
		nonNegative(path.Child("replicas"), ptr.Deref(spec.Replicas, 0)),
		nonNegative(path.Child("minReadySeconds"), spec.MinReadySeconds),
		workloadTemplate(path, spec.Selector, &spec.Template),
	)
}

// count is a number of pods in a status. Some cannot exceed the total number.
type count struct {
	field   string
	value   int32
	bounded bool
}

func counts(path *field.Path, replicas, ready, available int32, others []count) field.ErrorList {
	all := append(
		[]count{{"replicas", replicas, false}, {"readyReplicas", ready, true}, {"availableReplicas", available, true}},
		others...)
	var errs field.ErrorList
	for _, c := range all {
		errs = append(errs, nonNegative(path.Child(c.field), c.value)...)
		if c.bounded && c.value > replicas {
			errs = append(errs, field.Invalid(path.Child(c.field), c.value, "cannot be greater than status.replicas"))
		}
	}
	return append(
		errs,
		check(available <= ready, path.Child("availableReplicas"), available, "cannot be greater than readyReplicas")...)
}

// collisions checks the count of hash collisions, which only increases: a name that was in use is
// not tried again.
func collisions(status *field.Path, now, old *int32) field.ErrorList {
	path, n := status.Child("collisionCount"), ptr.Deref(now, 0)
	return join(
		nonNegative(path, n),
		check(n >= ptr.Deref(old, 0), path, n, "cannot be decremented"),
	)
}

// workloadTemplate checks a workload's pod template and selector. The template is only checked if
// the selector is valid.
func workloadTemplate(
	path *field.Path, selector *metav1.LabelSelector, template *core.PodTemplateSpec,
) field.ErrorList {
	return append(
		requiredSelector(path.Child("selector"), selector),
		selectedTemplate(path, selector, template, restartedTemplate)...)
}

func selectedTemplate(
	path *field.Path, selector *metav1.LabelSelector, template *core.PodTemplateSpec,
	rule func(at *field.Path, template *core.PodTemplateSpec) field.ErrorList,
) field.ErrorList {
	if _, err := metav1.LabelSelectorAsSelector(selector); err != nil {
		return errorList(field.Invalid(path.Child("selector"), field.OmitValueType{}, err.Error()))
	}
	at := path.Child("template")
	return append(rule(at, template), matchingLabels(at, selector, template)...)
}

// restartedTemplate checks a template of pods that are always restarted.
func restartedTemplate(at *field.Path, template *core.PodTemplateSpec) field.ErrorList {
	return append(podTemplate(at, template), alwaysRestarted(at, template)...)
}

// podTemplate checks the pod template of a workload.
func podTemplate(at *field.Path, template *core.PodTemplateSpec) field.ErrorList {
	errs := join(
		templateMetadata(at.Child("metadata"), &template.ObjectMeta),
		podSpec(at.Child("spec"), &template.Spec, nil),
		podAnnotations(at.Child("metadata", "annotations"), template.Annotations, &template.Spec),
	)
	if len(template.Spec.EphemeralContainers) > 0 {
		errs = append(errs, field.Forbidden(at.Child("spec", "ephemeralContainers"), "may not be set in a pod template"))
	}
	return errs
}

// alwaysRestarted checks that the pods of a template are restarted whenever they end.
func alwaysRestarted(at *field.Path, template *core.PodTemplateSpec) field.ErrorList {
	var errs field.ErrorList
	if policy := template.Spec.RestartPolicy; policy != corev1.RestartPolicyAlways {
		errs = append(errs,
			field.NotSupported(at.Child("spec", "restartPolicy"), policy, []corev1.RestartPolicy{corev1.RestartPolicyAlways}))
	}
	if template.Spec.ActiveDeadlineSeconds != nil {
		errs = append(errs,
			field.Forbidden(at.Child("spec", "activeDeadlineSeconds"), "may not be set for pods that are always restarted"))
	}
	return errs
}

// matchingLabels checks that a selector matches the pods of a template. An invalid or empty
// selector is reported elsewhere.
func matchingLabels(
	at *field.Path, selector *metav1.LabelSelector, template *core.PodTemplateSpec,
) field.ErrorList {
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil || parsed.Empty() || parsed.Matches(labels.Set(template.Labels)) {
		return nil
	}
	return errorList(field.Invalid(at.Child("metadata", "labels"), template.Labels,
		fmt.Sprintf("must match `selector` (%s)", parsed)))
}

func requiredSelector(path *field.Path, selector *metav1.LabelSelector) field.ErrorList {
	switch {
	case selector == nil:
		return errorList(field.Required(path, ""))
	case len(selector.MatchLabels)+len(selector.MatchExpressions) == 0:
		return errorList(field.Invalid(path, "{}", "must not be empty, since it would select every pod"))
	default:
		return labelSelector(path, selector)
	}
}

// ValidateScale checks the requested number of replicas.
func ValidateScale(scale *autoscalingv1.Scale) field.ErrorList {
	return append(metadata(&scale.ObjectMeta, namespaced, apivalidation.NameIsDNSSubdomain),
		nonNegative(field.NewPath("spec", "replicas"), scale.Spec.Replicas)...)
}
