package validation

import (
	"fmt"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	maxScalingPeriodSeconds       = 1800
	maxStabilizationPeriodSeconds = 3600
	autoscalerMissesGroup         = "apiVersion must specify API group"
	autoscalerCoreKind            = "ReplicationController"
	autoscalerNeedsMetric         = "must specify at least one Object or External metric to support scaling to zero replicas"
)

type (
	autoscaler     = autoscalingv2.HorizontalPodAutoscaler
	autoscalerSpec = autoscalingv2.HorizontalPodAutoscalerSpec
	scaleReference = autoscalingv2.CrossVersionObjectReference
)

// autoscalerRules checks the spec of a HorizontalPodAutoscaler.
type autoscalerRules struct {
	// target and object check the API versions of references.
	target, object apiVersionRule
}

// apiVersionRule is the set of API versions that a reference may have.
type apiVersionRule struct {
	// any permits every text, and core versions without a group.
	any, core bool
}

// ValidateHorizontalPodAutoscaler checks a new HorizontalPodAutoscaler.
func ValidateHorizontalPodAutoscaler(a *autoscaler) field.ErrorList {
	return append(metadata(&a.ObjectMeta, namespaced, apivalidation.NameIsDNSSubdomain),
		autoscalerRulesFor(a, nil).spec(&a.Spec)...)
}

// ValidateHorizontalPodAutoscalerUpdate checks a change of a HorizontalPodAutoscaler. Stored API
// versions may be invalid.
func ValidateHorizontalPodAutoscalerUpdate(a, old *autoscaler) field.ErrorList {
	return append(metadataUpdate(&a.ObjectMeta, &old.ObjectMeta), autoscalerRulesFor(a, old).spec(&a.Spec)...)
}

// ValidateHorizontalPodAutoscalerStatusUpdate checks the reported status of a
// HorizontalPodAutoscaler.
func ValidateHorizontalPodAutoscalerStatusUpdate(a, old *autoscaler) field.ErrorList {
	path := field.NewPath("status")
	return join(
		metadataUpdate(&a.ObjectMeta, &old.ObjectMeta),
		each(path.Child("conditions"), a.Status.Conditions,
			func(at *field.Path, c *autoscalingv2.HorizontalPodAutoscalerCondition) field.ErrorList {
				return when(c.ObservedGeneration != nil, func() field.ErrorList {
					return nonNegative(at.Child("observedGeneration"), *c.ObservedGeneration)
				})
			}),
		nonNegative(path.Child("currentReplicas"), a.Status.CurrentReplicas),
		nonNegative(path.Child("desiredReplicas"), a.Status.DesiredReplicas),
	)
}

func autoscalerRulesFor(a, old *autoscaler) autoscalerRules {
	rules := autoscalerRules{object: apiVersionRule{core: true}}
	target := a.Spec.ScaleTargetRef
	if old == nil {
		rules.target.core = target.Kind == autoscalerCoreKind
		return rules
	}
	before := old.Spec.ScaleTargetRef
	rules.target.any = before.APIVersion == target.APIVersion && before.Kind == target.Kind
	rules.target.core = target.Kind == autoscalerCoreKind
	for _, m := range old.Spec.Metrics {
		if m.Type == autoscalingv2.ObjectMetricSourceType && m.Object != nil &&
			len(rules.object.check(nil, m.Object.DescribedObject.APIVersion)) > 0 {
			rules.object.any = true
		}
	}
	return rules
}

func (r apiVersionRule) check(path *field.Path, version string) field.ErrorList {
	if r.any {
		return nil
	}
	gv, err := schema.ParseGroupVersion(version)
	if err != nil {
		return errorList(field.Invalid(path, version, err.Error()))
	}
	return check(r.core || gv.Group != "", path, version, autoscalerMissesGroup)
}

func (r apiVersionRule) reference(path *field.Path, ref *scaleReference) field.ErrorList {
	return join(pathSegment(path.Child("kind"), ref.Kind), pathSegment(path.Child("name"), ref.Name),
		r.check(path.Child("apiVersion"), ref.APIVersion))
}

func (r autoscalerRules) spec(spec *autoscalerSpec) field.ErrorList {
	path := field.NewPath("spec")
	least, most, metrics := path.Child("minReplicas"), path.Child("maxReplicas"), path.Child("metrics")
	var errs field.ErrorList
	switch {
	case spec.MaxReplicas == 0:
		errs = append(errs, field.Required(most, "must be set and greater than 0"))
	case spec.MaxReplicas < 0:
		errs = append(errs, field.Invalid(most, spec.MaxReplicas, "must be greater than or equal to 1"))
	}
	if spec.MinReplicas != nil {
		errs = join(errs, nonNegative(least, *spec.MinReplicas),
			check(spec.MaxReplicas >= *spec.MinReplicas, most, spec.MaxReplicas,
				"must be greater than or equal to `minReplicas`"))
		if *spec.MinReplicas == 0 && !scalesFromZero(spec.Metrics) {
			errs = append(errs, field.Forbidden(metrics, autoscalerNeedsMetric))
		}
	}
	errs = join(errs, r.target.reference(path.Child("scaleTargetRef"), &spec.ScaleTargetRef),
		each(metrics, spec.Metrics, r.metric))
	if b := spec.Behavior; b != nil {
		errs = join(errs, scalingRules(path.Child("behavior", "scaleUp"), b.ScaleUp),
			scalingRules(path.Child("behavior", "scaleDown"), b.ScaleDown))
	}
	return errs
}

// scalesFromZero reports whether a metric is there without pods.
func scalesFromZero(metrics []autoscalingv2.MetricSpec) bool {
	for i := range metrics {
		switch metrics[i].Type {
		case autoscalingv2.ObjectMetricSourceType, autoscalingv2.ExternalMetricSourceType:
			return true
		}
	}
	return false
}

func scalingRules(path *field.Path, r *autoscalingv2.HPAScalingRules) field.ErrorList {
	if r == nil {
		return nil
	}
	policies := path.Child("policies")
	errs := join(
		optionalSupported(path.Child("selectPolicy"), r.SelectPolicy, autoscalingv2.DisabledPolicySelect,
			autoscalingv2.MaxChangePolicySelect, autoscalingv2.MinChangePolicySelect),
		each(policies, r.Policies, scalingPolicy),
	)
	if len(r.Policies) == 0 {
		errs = append(errs, field.Required(policies, "must specify at least one Policy"))
	}
	if w := r.StabilizationWindowSeconds; w != nil {
		at := path.Child("stabilizationWindowSeconds")
		errs = join(errs, check(*w >= 0, at, *w, "must be greater than or equal to zero"),
			notAbove(at, *w, maxStabilizationPeriodSeconds))
	}
	if r.Tolerance != nil {
		errs = append(errs, nonNegativeQuantity(path.Child("tolerance"), *r.Tolerance)...)
	}
	return errs
}

func notAbove(path *field.Path, value, limit int32) field.ErrorList {
	return check(value <= limit, path, value, fmt.Sprintf("must be less than or equal to %d", limit))
}

func scalingPolicy(path *field.Path, p *autoscalingv2.HPAScalingPolicy) field.ErrorList {
	period := path.Child("periodSeconds")
	return join(
		supported(path.Child("type"), p.Type, autoscalingv2.PercentScalingPolicy, autoscalingv2.PodsScalingPolicy),
		check(p.Value > 0, path.Child("value"), p.Value, positive),
		check(p.PeriodSeconds > 0, period, p.PeriodSeconds, positive),
		notAbove(period, p.PeriodSeconds, maxScalingPeriodSeconds),
	)
}
