package validation

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ValidatePodLogOptions checks which part of a log is requested.
func ValidatePodLogOptions(o *corev1.PodLogOptions) field.ErrorList {
	all := sets.New(corev1.LogStreamAll, corev1.LogStreamStdout, corev1.LogStreamStderr)
	var errs field.ErrorList
	if n := o.TailLines; n != nil && *n < 0 {
		errs = append(errs, field.Invalid(field.NewPath("tailLines"), *n, "must be greater than or equal to 0"))
	}
	if n := o.LimitBytes; n != nil && *n < 1 {
		errs = append(errs, field.Invalid(field.NewPath("limitBytes"), *n, "must be greater than 0"))
	}
	switch n := o.SinceSeconds; {
	case n != nil && o.SinceTime != nil:
		errs = append(errs, field.Forbidden(field.NewPath(""),
			"at most one of `sinceTime` or `sinceSeconds` may be specified"))
	case n != nil && *n < 1:
		errs = append(errs, field.Invalid(field.NewPath("sinceSeconds"), *n, "must be greater than 0"))
	}
	switch s := o.Stream; {
	case s == nil:
		errs = append(errs, field.Required(field.NewPath("stream"), "must be specified"))
	case !all.Has(*s):
		errs = append(errs, field.NotSupported(field.NewPath("stream"), *s, sets.List(all)))
	case *s != corev1.LogStreamAll && o.TailLines != nil:
		errs = append(errs, field.Forbidden(field.NewPath(""),
			"`tailLines` and specific `stream` are mutually exclusive for now"))
	}
	return errs
}
