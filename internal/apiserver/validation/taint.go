package validation

import (
	corev1 "k8s.io/api/core/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func taintEffects() []corev1.TaintEffect {
	return []corev1.TaintEffect{
		corev1.TaintEffectNoSchedule,
		corev1.TaintEffectPreferNoSchedule,
		corev1.TaintEffectNoExecute,
	}
}

func tolerations(path *field.Path, list []corev1.Toleration) field.ErrorList {
	return each(path, list, toleration)
}

func toleration(path *field.Path, t *corev1.Toleration) field.ErrorList {
	var errs field.ErrorList
	if t.Key != "" {
		errs = append(errs, labelKey(path.Child("key"), t.Key)...)
	} else if t.Operator != corev1.TolerationOpExists {
		errs = append(errs, field.Invalid(path.Child("operator"), t.Operator, "must be Exists where `key` is empty"))
	}
	switch t.Operator {
	case corev1.TolerationOpEqual, "":
		// Kubernetes reports the operator, not the value, in this case.
		errs = append(errs, labelValue(path.Child("operator"), t.Value)...)
	case corev1.TolerationOpExists:
		errs = append(errs, check(t.Value == "", path.Child("operator"), t.Value, "Exists needs an empty `value`")...)
	default:
		errs = append(
			errs,
			supported(path.Child("operator"), t.Operator, corev1.TolerationOpEqual, corev1.TolerationOpExists)...)
	}
	if t.Effect != "" {
		errs = append(errs, oneOf(path.Child("effect"), t.Effect, taintEffects()...)...)
	}
	if t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoExecute {
		errs = append(errs,
			field.Invalid(path.Child("effect"), t.Effect, "must be NoExecute where `tolerationSeconds` is set"))
	}
	return errs
}

func taints(path *field.Path, list []corev1.Taint) field.ErrorList {
	return join(
		each(path, list, func(at *field.Path, t *corev1.Taint) field.ErrorList {
			return join(metav1validation.ValidateLabelName(t.Key, at.Child("key")), labelValue(at.Child("value"), t.Value),
				oneOf(at.Child("effect"), t.Effect, taintEffects()...))
		}),
		unique(path, list, "", func(t *corev1.Taint) string { return t.Key + ":" + string(t.Effect) }),
	)
}
