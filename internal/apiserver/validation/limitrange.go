package validation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ValidateLimitRange checks a new LimitRange.
func ValidateLimitRange(l *corev1.LimitRange) field.ErrorList {
	return append(metadata(&l.ObjectMeta, namespaced, apivalidation.NameIsDNSSubdomain), limits(l)...)
}

// ValidateLimitRangeUpdate checks a change of a LimitRange.
func ValidateLimitRangeUpdate(l, old *corev1.LimitRange) field.ErrorList {
	return append(metadataUpdate(&l.ObjectMeta, &old.ObjectMeta), limits(l)...)
}

func limits(l *corev1.LimitRange) field.ErrorList {
	path := field.NewPath("spec", "limits")
	return join(
		each(path, l.Spec.Limits, limitItem),
		distinct(path, l.Spec.Limits, "type", func(item *corev1.LimitRangeItem) corev1.LimitType { return item.Type }),
	)
}

func limitItem(path *field.Path, item *corev1.LimitRangeItem) field.ErrorList {
	errs := limitType(path.Child("type"), item.Type)
	lists := map[string]corev1.ResourceList{
		"max":                  item.Max,
		"min":                  item.Min,
		"maxLimitRequestRatio": item.MaxLimitRequestRatio,
	}
	if item.Type == corev1.LimitTypePod {
		errs = append(errs, forbidden(path, "may not be specified when `type` is 'Pod'",
			member{"default", len(item.Default) > 0}, member{"defaultRequest", len(item.DefaultRequest) > 0})...)
	} else {
		lists["default"], lists["defaultRequest"] = item.Default, item.DefaultRequest
	}
	rule := resourceName
	if item.Type == corev1.LimitTypePod || item.Type == corev1.LimitTypeContainer {
		rule = containerResourceName
	}
	names := map[corev1.ResourceName]bool{}
	for child, list := range lists {
		for _, name := range sortedNames(list) {
			names[name] = true
			errs = append(errs, rule(path.Child(child).Key(string(name)), name)...)
		}
	}
	if item.Type == corev1.LimitTypePersistentVolumeClaim {
		_, least := item.Min[corev1.ResourceStorage]
		_, most := item.Max[corev1.ResourceStorage]
		if !least && !most {
			errs = append(
				errs,
				field.Required(path.Child("limits"),
					"either minimum or maximum storage value is required, but neither was provided"),
			)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		errs = append(errs, limitOrder(path, lists, name)...)
		errs = append(errs, limitRatio(path.Child("maxLimitRequestRatio").Key(string(name)), item, name)...)
	}
	return errs
}

func limitType(path *field.Path, kind corev1.LimitType) field.ErrorList {
	if errs := wellFormed(path, string(kind), validation.IsQualifiedName); len(errs) > 0 {
		return errs
	}
	switch kind {
	case corev1.LimitTypePod, corev1.LimitTypeContainer, corev1.LimitTypePersistentVolumeClaim:
		return nil
	}
	return check(strings.Contains(string(kind), "/"), path, kind, "must be a standard limit type or fully qualified")
}

// limitOrder checks that min, defaultRequest, default and max of a resource are in this order,
// where they are set.
func limitOrder(path *field.Path, lists map[string]corev1.ResourceList, name corev1.ResourceName) field.ErrorList {
	var errs field.ErrorList
	for _, pair := range []struct{ less, lessText, more, moreText, at, shown string }{
		{"min", "min value", "max", "max value", "min", "min"},
		{"min", "min value", "defaultRequest", "default request value", "defaultRequest", "defaultRequest"},
		{"defaultRequest", "default request value", "max", "max value", "defaultRequest", "defaultRequest"},
		{"defaultRequest", "default request value", "default", "default limit value", "defaultRequest", "defaultRequest"},
		{"min", "min value", "default", "default value", "default", "min"},
		{"default", "default value", "max", "max value", "default", "max"},
	} {
		less, ok := lists[pair.less][name]
		more, both := lists[pair.more][name]
		if ok && both && less.Cmp(more) > 0 {
			value := lists[pair.shown][name]
			errs = append(errs, field.Invalid(path.Child(pair.at).Key(string(name)), value.String(),
				fmt.Sprintf("%s %s is greater than %s %s", pair.lessText, less.String(), pair.moreText, more.String())))
		}
	}
	limit, limited := lists["default"][name]
	request, requested := lists["defaultRequest"][name]
	exact := !isNative(name) || isHugePages(name) // cannot be overcommitted
	if exact && limited && requested && limit.Cmp(request) != 0 {
		errs = append(errs, field.Invalid(path.Child("defaultRequest").Key(string(name)), request.String(),
			fmt.Sprintf("default value %s must equal to defaultRequest value %s in %s", limit.String(), request.String(), name)))
	}
	return errs
}

// limitRatio checks that a maximal ratio of limit to request is one that the minimum and the
// maximum allow.
func limitRatio(path *field.Path, item *corev1.LimitRangeItem, name corev1.ResourceName) field.ErrorList {
	ratio, ok := item.MaxLimitRequestRatio[name]
	if !ok {
		return nil
	}
	errs := check(ratio.Cmp(apiresource.MustParse("1")) >= 0, path, ratio.String(),
		fmt.Sprintf("ratio %s is less than 1", ratio.String()))
	least, bounded := item.Min[name]
	most, both := item.Max[name]
	if !bounded || !both || least.IsZero() {
		return errs
	}
	widest := most.AsApproximateFloat64() / least.AsApproximateFloat64()
	return append(errs, check(ratio.AsApproximateFloat64() <= widest, path, ratio.String(),
		fmt.Sprintf("ratio %s is greater than max/min = %f", ratio.String(), widest))...)
}
