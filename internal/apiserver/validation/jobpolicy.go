package validation

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	batch "github.com/allot-dev/allot/api/batch/v1"
)

const (
	maxPolicyRules      = 20
	maxExitCodes        = 255
	maxPodConditions    = 20
	maxSucceededIndexes = 64 * 1024
)

// podReplacement accepts only Failed if a policy must see each failure.
func podReplacement(path *field.Path, spec *batch.JobSpec) field.ErrorList {
	if spec.PodFailurePolicy != nil {
		return optionalSupported(path, spec.PodReplacementPolicy, batchv1.Failed)
	}
	return optionalSupported(path, spec.PodReplacementPolicy, batchv1.Failed, batchv1.TerminatingOrFailed)
}

func podFailurePolicy(path *field.Path, spec *batch.JobSpec) field.ErrorList {
	if spec.PodFailurePolicy == nil {
		return nil
	}
	rules := path.Child("rules")
	var names []string
	for _, list := range [][]corev1.Container{spec.Template.Spec.InitContainers, spec.Template.Spec.Containers} {
		for i := range list {
			names = append(names, list[i].Name)
		}
	}
	return append(atMost(rules, len(spec.PodFailurePolicy.Rules), maxPolicyRules),
		each(rules, spec.PodFailurePolicy.Rules, func(at *field.Path, rule *batchv1.PodFailurePolicyRule) field.ErrorList {
			errs := join(
				failureAction(at.Child("action"), rule.Action, spec.BackoffLimitPerIndex != nil),
				exitCodes(at.Child("onExitCodes"), rule.OnExitCodes, names),
				podConditions(at.Child("onPodConditions"), rule.OnPodConditions),
			)
			if (rule.OnExitCodes != nil) == (len(rule.OnPodConditions) > 0) {
				errs = append(errs,
					field.Invalid(at, field.OmitValueType{}, "exactly one of `onExitCodes`, `onPodConditions` must be set"))
			}
			return errs
		})...)
}

func failureAction(path *field.Path, action batchv1.PodFailurePolicyAction, byIndex bool) field.ErrorList {
	if action == batchv1.PodFailurePolicyActionFailIndex {
		return check(byIndex, path, action, "needs `backoffLimitPerIndex`")
	}
	return oneOf(path, action, batchv1.PodFailurePolicyActionCount, batchv1.PodFailurePolicyActionFailIndex,
		batchv1.PodFailurePolicyActionFailJob, batchv1.PodFailurePolicyActionIgnore)
}

func exitCodes(
	path *field.Path, on *batchv1.PodFailurePolicyOnExitCodesRequirement, containers []string,
) field.ErrorList {
	if on == nil {
		return nil
	}
	values := path.Child("values")
	errs := join(
		oneOf(path.Child("operator"), on.Operator, batchv1.PodFailurePolicyOnExitCodesOpIn,
			batchv1.PodFailurePolicyOnExitCodesOpNotIn),
		atMost(values, len(on.Values), maxExitCodes),
		check(len(on.Values) > 0, values, on.Values, "at least one is needed"),
		check(slices.IsSorted(on.Values), values, on.Values, "must be in ascending order"),
	)
	if name := on.ContainerName; name != nil && !slices.Contains(containers, *name) {
		errs = append(
			errs,
			field.Invalid(path.Child("containerName"), *name,
				"must be the name of a container or of an init container of the template"),
		)
	}
	seen := map[int32]bool{}
	return append(errs, each(values, on.Values, func(at *field.Path, code *int32) field.ErrorList {
		errs := check(*code != 0 || on.Operator != batchv1.PodFailurePolicyOnExitCodesOpIn, at, *code, "0 is not a failure")
		if seen[*code] {
			errs = append(errs, field.Duplicate(at, *code))
		}
		seen[*code] = true
		return errs
	})...)
}

func podConditions(path *field.Path, patterns []batchv1.PodFailurePolicyOnPodConditionsPattern) field.ErrorList {
	return append(atMost(path, len(patterns), maxPodConditions),
		each(path, patterns, func(at *field.Path, p *batchv1.PodFailurePolicyOnPodConditionsPattern) field.ErrorList {
			return join(
				wellFormed(at.Child("type"), string(p.Type), validation.IsQualifiedName),
				oneOf(at.Child("status"), p.Status, corev1.ConditionFalse, corev1.ConditionTrue, corev1.ConditionUnknown),
			)
		})...)
}

func successPolicy(path *field.Path, spec *batch.JobSpec) field.ErrorList {
	if spec.SuccessPolicy == nil {
		return nil
	}
	if !isIndexed(spec) {
		return errorList(field.Invalid(path, field.OmitValueType{}, onlyIndexed))
	}
	rules := path.Child("rules")
	if len(spec.SuccessPolicy.Rules) == 0 {
		return errorList(field.Required(rules, ""))
	}
	// Without completions, numbers of them cannot be checked; the missing field is reported
	// elsewhere.
	completions := ptr.Deref(spec.Completions, 0)
	return append(atMost(rules, len(spec.SuccessPolicy.Rules), maxPolicyRules),
		each(rules, spec.SuccessPolicy.Rules, func(at *field.Path, rule *batchv1.SuccessPolicyRule) field.ErrorList {
			return successRule(at, rule, completions)
		})...)
}

func successRule(path *field.Path, rule *batchv1.SuccessPolicyRule, completions int32) field.ErrorList {
	if rule.SucceededCount == nil && rule.SucceededIndexes == nil {
		return errorList(field.Required(path, "at least one of `succeededCount`, `succeededIndexes` must be set"))
	}
	var errs field.ErrorList
	available, of := completions, "`completions`"
	if text := rule.SucceededIndexes; text != nil {
		at := path.Child("succeededIndexes")
		if len(*text) > maxSucceededIndexes {
			errs = append(errs, field.TooLong(at, "", maxSucceededIndexes))
		}
		list, err := parseIndexes(*text, completions)
		if err != nil {
			errs = append(errs, field.Invalid(at, *text, err.Error()))
		}
		available, of = min(available, size(list)), "the number of indexes in `succeededIndexes`"
	}
	if n := rule.SucceededCount; n != nil {
		at := path.Child("succeededCount")
		errs = append(errs, nonNegative(at, *n)...)
		errs = append(
			errs,
			check(*n <= available, at, *n, fmt.Sprintf("must be less than or equal to %d, %s", available, of))...)
	}
	return errs
}
