package validation

import (
	resourcev1 "k8s.io/api/resource/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ValidateDeviceTaintRule checks a new DeviceTaintRule.
func ValidateDeviceTaintRule(rule *resourcev1.DeviceTaintRule) field.ErrorList {
	return append(
		metadata(&rule.ObjectMeta, clusterScoped, apivalidation.NameIsDNSSubdomain),
		taintRuleSpec(&rule.Spec)...)
}

// ValidateDeviceTaintRuleUpdate checks a change of a rule. All fields are mutable.
func ValidateDeviceTaintRuleUpdate(rule, old *resourcev1.DeviceTaintRule) field.ErrorList {
	return append(metadataUpdate(&rule.ObjectMeta, &old.ObjectMeta), taintRuleSpec(&rule.Spec)...)
}

// ValidateDeviceTaintRuleStatusUpdate checks the status that the eviction controller reports.
func ValidateDeviceTaintRuleStatusUpdate(rule, old *resourcev1.DeviceTaintRule) field.ErrorList {
	path := field.NewPath("status", "conditions")
	return join(
		metadataUpdate(&rule.ObjectMeta, &old.ObjectMeta),
		atMost(path, len(rule.Status.Conditions), resourcev1.DeviceTaintRuleStatusMaxConditions),
		conditions(path, rule.Status.Conditions),
	)
}

func conditions(path *field.Path, list []metav1.Condition) field.ErrorList {
	return append(each(path, list, func(at *field.Path, c *metav1.Condition) field.ErrorList {
		return metav1validation.ValidateCondition(*c, at)
	}), distinct(path, list, "", func(c *metav1.Condition) string { return c.Type })...)
}

func taintRuleSpec(spec *resourcev1.DeviceTaintRuleSpec) field.ErrorList {
	path := field.NewPath("spec")
	errs := deviceTaint(path.Child("taint"), &spec.Taint)
	s := spec.DeviceSelector
	if s == nil {
		return errs
	}
	at := path.Child("deviceSelector")
	if s.Driver != nil {
		errs = append(errs, driverName(at.Child("driver"), *s.Driver)...)
	}
	if s.Pool != nil {
		errs = append(errs, poolName(at.Child("pool"), *s.Pool)...)
	}
	if s.Device != nil {
		errs = append(errs, wellFormed(at.Child("device"), *s.Device, validation.IsDNS1123Label)...)
	}
	return errs
}

// deviceTaint checks what no generated rule checks in a taint.
func deviceTaint(path *field.Path, t *resourcev1.DeviceTaint) field.ErrorList {
	errs := append(
		metav1validation.ValidateLabelName(t.Key, path.Child("key")),
		labelValue(path.Child("value"), t.Value)...)
	if t.Effect == "" {
		return append(errs, field.Required(path.Child("effect"), ""))
	}
	return append(errs, oneOf(path.Child("effect"), t.Effect,
		resourcev1.DeviceTaintEffectNoExecute, resourcev1.DeviceTaintEffectNoSchedule, resourcev1.DeviceTaintEffectNone)...)
}
