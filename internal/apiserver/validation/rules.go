package validation

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Messages of rules that several kinds share.
const (
	immutable       = apivalidation.FieldImmutableErrorMsg
	positive        = "must be greater than zero"
	onlyOnceMessage = "may not be changed once set"
)

// join concatenates the errors of several rules.
func join(lists ...field.ErrorList) field.ErrorList { return slices.Concat(lists...) }

// when applies a rule if a condition is true.
func when(condition bool, rule func() field.ErrorList) field.ErrorList {
	if !condition {
		return nil
	}
	return rule()
}

// errorList returns a list with one error.
func errorList(fault *field.Error) field.ErrorList { return field.ErrorList{fault} }

// check returns an error unless ok.
func check(ok bool, path *field.Path, value any, message string) field.ErrorList {
	if ok {
		return nil
	}
	return errorList(field.Invalid(path, value, message))
}

// each applies a rule to every element of a list.
func each[T any](path *field.Path, list []T, rule func(path *field.Path, element *T) field.ErrorList) field.ErrorList {
	var errs field.ErrorList
	for i := range list {
		errs = append(errs, rule(path.Index(i), &list[i])...)
	}
	return errs
}

// eachUpTo is each for a list with a maximum length. If the list is longer, its elements are not
// checked.
func eachUpTo[T any](
	path *field.Path, list []T, limit int, rule func(path *field.Path, element *T) field.ErrorList,
) field.ErrorList {
	if len(list) > limit {
		return nil
	}
	return each(path, list, rule)
}

// unique reports elements whose key occurred earlier in the list, at the field of the key. Empty
// keys are ignored.
func unique[T any](path *field.Path, list []T, keyField string, key func(*T) string) field.ErrorList {
	var errs field.ErrorList
	seen := make(map[string]bool, len(list))
	for i := range list {
		k := key(&list[i])
		if k != "" && seen[k] {
			at := path.Index(i)
			if keyField != "" {
				at = at.Child(keyField)
			}
			errs = append(errs, field.Duplicate(at, k))
		}
		seen[k] = true
	}
	return errs
}

// distinct is unique without the exception for empty keys.
func distinct[T any, K comparable](path *field.Path, list []T, keyField string, key func(*T) K) field.ErrorList {
	seen := make(map[K]bool, len(list))
	return each(path, list, func(at *field.Path, element *T) field.ErrorList {
		k := key(element)
		if !seen[k] {
			seen[k] = true
			return nil
		}
		if keyField != "" {
			at = at.Child(keyField)
		}
		return errorList(field.Duplicate(at, k))
	})
}

func atMost(path *field.Path, count, limit int) field.ErrorList {
	if count <= limit {
		return nil
	}
	return errorList(field.TooMany(path, count, limit))
}

func required(path *field.Path, value string) field.ErrorList {
	if value != "" {
		return nil
	}
	return errorList(field.Required(path, ""))
}

// requiredForm applies a rule on text, such as IsDNS1123Label, to a required value.
func requiredForm(path *field.Path, value string, rule func(string) []string) field.ErrorList {
	if value == "" {
		return errorList(field.Required(path, ""))
	}
	return wellFormed(path, value, rule)
}

// wellFormed is form for a rule that itself decides about an empty value.
func wellFormed(path *field.Path, value string, rule func(string) []string) field.ErrorList {
	var errs field.ErrorList
	for _, message := range rule(value) {
		errs = append(errs, field.Invalid(path, value, message))
	}
	return errs
}

// optionalForm is form for a value that may be empty.
func optionalForm(path *field.Path, value string, rule func(string) []string) field.ErrorList {
	if value == "" {
		return nil
	}
	return requiredForm(path, value, rule)
}

// pointerForm is form for a value that may be absent, but not empty.
func pointerForm(path *field.Path, value *string, rule func(string) []string) field.ErrorList {
	if value == nil {
		return nil
	}
	if *value == "" {
		return errorList(field.Invalid(path, "", "may not be empty where it is set"))
	}
	return requiredForm(path, *value, rule)
}

func dnsLabel(path *field.Path, value string) field.ErrorList {
	return requiredForm(path, value, validation.IsDNS1123Label)
}

func dnsSubdomain(path *field.Path, value string) field.ErrorList {
	return requiredForm(path, value, validation.IsDNS1123Subdomain)
}

func labelKey(path *field.Path, value string) field.ErrorList {
	if value == "" {
		return errorList(field.Required(path, ""))
	}
	return metav1validation.ValidateLabelName(value, path)
}

func labelValue(path *field.Path, value string) field.ErrorList {
	return optionalForm(path, value, validation.IsValidLabelValue)
}

func pathSegment(path *field.Path, value string) field.ErrorList {
	return requiredForm(path, value, content.IsPathSegmentName)
}

func oneOf[T ~string](path *field.Path, value T, allowed ...T) field.ErrorList {
	switch {
	case slices.Contains(allowed, value):
		return nil
	case value == "":
		return errorList(field.Required(path, "valid values: "+quoted(allowed)))
	default:
		return errorList(field.NotSupported(path, value, allowed))
	}
}

// supported is oneOf without a separate error for an empty value.
func supported[T ~string](path *field.Path, value T, allowed ...T) field.ErrorList {
	if slices.Contains(allowed, value) {
		return nil
	}
	return errorList(field.NotSupported(path, value, allowed))
}

// invalidUnless is oneOf for a field for which Kubernetes reports other values as invalid.
func invalidUnless[T ~string](path *field.Path, value T, allowed ...T) field.ErrorList {
	errs := oneOf(path, value, allowed...)
	for _, e := range errs {
		if e.Type == field.ErrorTypeNotSupported {
			e.Type = field.ErrorTypeInvalid
		}
	}
	return errs
}

func optionalOneOf[T ~string](path *field.Path, value *T, allowed ...T) field.ErrorList {
	if value == nil {
		return nil
	}
	return oneOf(path, *value, allowed...)
}

func quoted[T ~string](values []T) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = fmt.Sprintf("%q", string(v))
	}
	return strings.Join(texts, ", ")
}

// member is one field of a union.
type member struct {
	name string
	set  bool
}

// exactlyOne returns an error if no field of a union is set, or several are.
func exactlyOne(path *field.Path, members ...member) field.ErrorList {
	var names, set []string
	for _, m := range members {
		names = append(names, "`"+m.name+"`")
		if m.set {
			set = append(set, "`"+m.name+"`")
		}
	}
	switch len(set) {
	case 1:
		return nil
	case 0:
		return errorList(field.Required(path, "exactly one of "+strings.Join(names, ", ")+" must be set"))
	default:
		message := "exactly one of " + strings.Join(names, ", ") + " must be set"
		return errorList(field.Invalid(path, strings.Join(set, ", "), message))
	}
}

// union is exactlyOne for a union that Kubernetes reports as invalid even if no field is set.
func union(path *field.Path, members ...member) field.ErrorList {
	errs := exactlyOne(path, members...)
	for _, e := range errs {
		e.Type, e.BadValue = field.ErrorTypeInvalid, ""
	}
	return errs
}

func nonNegative[T int32 | int64](path *field.Path, value T) field.ErrorList {
	return apivalidation.ValidateNonnegativeField(int64(value), path)
}

func between(path *field.Path, value, low, high int64) field.ErrorList {
	return check(low <= value && value <= high, path, value, validation.InclusiveRangeError(int(low), int(high)))
}

// immutableField returns an error if an immutable field has changed.
func immutableField(path *field.Path, now, before any) field.ErrorList {
	if equality.Semantic.DeepEqual(now, before) {
		return nil
	}
	return errorList(field.Invalid(path, now, immutable))
}
