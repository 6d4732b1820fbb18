package validation

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func affinity(path *field.Path, a *corev1.Affinity) field.ErrorList {
	if a == nil {
		return nil
	}
	var errs field.ErrorList
	if n := a.NodeAffinity; n != nil {
		errs = append(errs, nodeAffinity(path.Child("nodeAffinity"), n)...)
	}
	if p := a.PodAffinity; p != nil {
		at := path.Child("podAffinity")
		errs = append(
			errs,
			podTerms(at, p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution)...)
	}
	if p := a.PodAntiAffinity; p != nil {
		at := path.Child("podAntiAffinity")
		errs = append(
			errs,
			podTerms(at, p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution)...)
	}
	return errs
}

func nodeAffinity(path *field.Path, n *corev1.NodeAffinity) field.ErrorList {
	errs := each(
		path.Child("preferredDuringSchedulingIgnoredDuringExecution"),
		n.PreferredDuringSchedulingIgnoredDuringExecution,
		func(at *field.Path, term *corev1.PreferredSchedulingTerm) field.ErrorList {
			return append(
				between(at.Child("weight"), int64(term.Weight), 1, 100),
				preferredTerm(at.Child("preference"), &term.Preference)...)
		},
	)
	if required := n.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
		errs = append(errs, nodeSelector(path.Child("requiredDuringSchedulingIgnoredDuringExecution"), required)...)
	}
	return errs
}

// nodeSelector checks a node selector of a pod, a slice or an allocation.
func nodeSelector(path *field.Path, selector *corev1.NodeSelector) field.ErrorList {
	terms := path.Child("nodeSelectorTerms")
	if len(selector.NodeSelectorTerms) == 0 {
		return errorList(field.Required(terms, "must have at least one node selector term"))
	}
	return each(terms, selector.NodeSelectorTerms, nodeSelectorTerm)
}

func nodeSelectorTerm(path *field.Path, term *corev1.NodeSelectorTerm) field.ErrorList {
	values := each(
		path.Child("matchExpressions"),
		term.MatchExpressions,
		func(at *field.Path, r *corev1.NodeSelectorRequirement) field.ErrorList {
			return each(at.Child("values"), r.Values,
				func(at *field.Path, v *string) field.ErrorList { return labelValue(at, *v) })
		},
	)
	return append(preferredTerm(path, term), values...)
}

// preferredTerm is nodeSelectorTerm without the check of label values: an impossible value is
// harmless in a preference.
func preferredTerm(path *field.Path, term *corev1.NodeSelectorTerm) field.ErrorList {
	return append(
		each(
			path.Child("matchExpressions"),
			term.MatchExpressions,
			func(at *field.Path, r *corev1.NodeSelectorRequirement) field.ErrorList {
				return append(metav1validation.ValidateLabelName(r.Key, at.Child("key")), requirementValues(at, r)...)
			},
		),
		each(path.Child("matchFields"), term.MatchFields, matchField)...,
	)
}

func matchField(at *field.Path, r *corev1.NodeSelectorRequirement) field.ErrorList {
	var errs field.ErrorList
	switch r.Operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		if len(r.Values) != 1 {
			errs = append(errs, field.Required(at.Child("values"), "must have exactly one element"))
		}
	default:
		errs = append(errs, field.Invalid(at.Child("operator"), r.Operator, "must be In or NotIn"))
	}
	if r.Key != metav1.ObjectNameField {
		return append(errs, field.Invalid(at.Child("key"), r.Key, "must be "+metav1.ObjectNameField))
	}
	return append(errs, each(at.Child("values"), r.Values, func(at *field.Path, name *string) field.ErrorList {
		return wellFormed(at, *name, validation.IsDNS1123Subdomain)
	})...)
}

func requirementValues(path *field.Path, r *corev1.NodeSelectorRequirement) field.ErrorList {
	at, n := path.Child("values"), len(r.Values)
	switch r.Operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		if n == 0 {
			return errorList(field.Required(at, "needed with operator "+string(r.Operator)))
		}
		return nil
	case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
		if n > 0 {
			return errorList(field.Forbidden(at, "may not be set with operator "+string(r.Operator)))
		}
		return nil
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		if n != 1 {
			return errorList(field.Required(at, "must have exactly one element with operator "+string(r.Operator)))
		}
		return nil
	default:
		return errorList(field.Invalid(path.Child("operator"), r.Operator, "must be DoesNotExist, Exists, Gt, In, Lt or NotIn"))
	}
}

func podTerms(
	path *field.Path, required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm,
) field.ErrorList {
	return join(
		each(path.Child("requiredDuringSchedulingIgnoredDuringExecution"), required, podTerm),
		each(path.Child("preferredDuringSchedulingIgnoredDuringExecution"), preferred,
			func(at *field.Path, term *corev1.WeightedPodAffinityTerm) field.ErrorList {
				return append(
					between(at.Child("weight"), int64(term.Weight), 1, 100),
					podTerm(at.Child("podAffinityTerm"), &term.PodAffinityTerm)...)
			}),
	)
}

func podTerm(path *field.Path, term *corev1.PodAffinityTerm) field.ErrorList {
	return join(
		labelSelector(path.Child("labelSelector"), term.LabelSelector),
		labelSelector(path.Child("namespaceSelector"), term.NamespaceSelector),
		each(path.Child("namespaces"), term.Namespaces, func(at *field.Path, ns *string) field.ErrorList {
			return wellFormed(at, *ns, validation.IsDNS1123Label)
		}),
		required(path.Child("topologyKey"), term.TopologyKey),
		metav1validation.ValidateLabelName(term.TopologyKey, path.Child("topologyKey")),
		matchLabelKeys(path, "matchLabelKeys", term.MatchLabelKeys, term.LabelSelector),
		keysOnce(path.Child("matchLabelKeys"), term.MatchLabelKeys, term.LabelSelector),
		matchLabelKeys(path, "mismatchLabelKeys", term.MismatchLabelKeys, term.LabelSelector),
		each(path.Child("matchLabelKeys"), term.MatchLabelKeys, func(at *field.Path, key *string) field.ErrorList {
			return check(!slices.Contains(term.MismatchLabelKeys, *key), at, *key, "must not also be in `mismatchLabelKeys`")
		}),
	)
}

func matchLabelKeys(path *field.Path, name string, keys []string, selector *metav1.LabelSelector) field.ErrorList {
	if len(keys) > 0 && selector == nil {
		return errorList(field.Forbidden(path.Child(name), "may only be set together with `labelSelector`"))
	}
	return each(path.Child(name), keys,
		func(at *field.Path, key *string) field.ErrorList { return metav1validation.ValidateLabelName(*key, at) })
}

// keysOnce rejects keys that the selector already has: the requirement generated from a key comes
// last, and no earlier one may have the same label.
func keysOnce(path *field.Path, keys []string, selector *metav1.LabelSelector) field.ErrorList {
	if selector == nil {
		return nil
	}
	var errs field.ErrorList
	seen := map[string]bool{}
	for key := range selector.MatchLabels {
		seen[key] = true
	}
	for i := range selector.MatchExpressions {
		key := selector.MatchExpressions[i].Key
		if at := slices.Index(keys, key); at >= 0 && seen[key] {
			errs = append(errs, field.Invalid(path.Index(at), key, "must not also be in `labelSelector`"))
		}
		seen[key] = true
	}
	return errs
}

func labelSelector(path *field.Path, selector *metav1.LabelSelector) field.ErrorList {
	return metav1validation.ValidateLabelSelector(selector, metav1validation.LabelSelectorValidationOptions{}, path)
}
