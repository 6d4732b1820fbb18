package validation

import (
	"math"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	core "github.com/allot-dev/allot/api/core/v1"
)

// ValidatePodUpdate checks a change of a pod. Most of the spec is immutable: only images, a shorter
// deadline, additional tolerations and fewer scheduling gates are accepted, and, with scheduling
// gates, a narrower choice of nodes.
func ValidatePodUpdate(pod, old *core.Pod) field.ErrorList {
	path, annotations := field.NewPath("spec"), field.NewPath("metadata", "annotations")
	errs := join(
		metadataUpdate(&pod.ObjectMeta, &old.ObjectMeta),
		annotationsUpdate(annotations, pod.Annotations, old.Annotations),
		podAnnotations(annotations, pod.Annotations, &pod.Spec),
	)
	if equality.Semantic.DeepEqual(pod.Spec, old.Spec) && pod.Name == old.Name {
		return errs
	}
	errs = join(errs, podSpec(path, &pod.Spec, &pod.ObjectMeta), podOnly(path, &pod.Spec))
	for _, list := range []struct {
		field    string
		now, old int
	}{
		{"containers", len(pod.Spec.Containers), len(old.Spec.Containers)},
		{"initContainers", len(pod.Spec.InitContainers), len(old.Spec.InitContainers)},
	} {
		if list.now != list.old {
			return append(errs, field.Forbidden(path.Child(list.field), "containers may not be added or removed"))
		}
	}
	if fault, final := deadlineUpdate(path.Child("activeDeadlineSeconds"), pod.Spec.ActiveDeadlineSeconds,
		old.Spec.ActiveDeadlineSeconds); final {
		return append(errs, fault...)
	} else if fault != nil {
		errs = append(errs, fault...)
	}
	return join(errs,
		tolerationsUpdate(path.Child("tolerations"), pod.Spec.Tolerations, old.Spec.Tolerations),
		gatesUpdate(path.Child("schedulingGates"), pod.Spec.SchedulingGates, old.Spec.SchedulingGates),
		gatedUpdate(path, &pod.Spec, &old.Spec),
		fixedPodFields(path, &pod.Spec, &old.Spec),
	)
}

// fixedPodFields rejects changes of immutable fields of the spec. It reverts the permitted changes
// on a copy, and compares the fields.
func fixedPodFields(path *field.Path, spec, old *core.PodSpec) field.ErrorList {
	now := spec.DeepCopy()
	restoreImages(now.Containers, old.Containers)
	restoreImages(now.InitContainers, old.InitContainers)
	now.ActiveDeadlineSeconds = old.ActiveDeadlineSeconds
	now.Tolerations = old.Tolerations
	now.SchedulingGates = old.SchedulingGates
	if grace := now.TerminationGracePeriodSeconds; grace != nil && *grace == 1 &&
		old.TerminationGracePeriodSeconds != nil && *old.TerminationGracePeriodSeconds < 0 {
		now.TerminationGracePeriodSeconds = old.TerminationGracePeriodSeconds
	}
	if len(old.SchedulingGates) > 0 {
		now.NodeSelector = old.NodeSelector
		restoreNodeAffinity(now, old)
	}
	var changed []string
	a, b := reflect.ValueOf(now).Elem(), reflect.ValueOf(old).Elem()
	for i := range a.NumField() {
		if !equality.Semantic.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
			name, _, _ := strings.Cut(a.Type().Field(i).Tag.Get("json"), ",")
			changed = append(changed, "`"+name+"`"+exceptionText(name))
		}
	}
	if len(changed) == 0 {
		return nil
	}
	return errorList(field.Forbidden(path, "an update of a pod may not change "+strings.Join(changed, ", ")))
}

func exceptionText(name string) string {
	switch name {
	case "containers", "initContainers":
		return " (except for images)"
	case "nodeSelector", "affinity":
		return " (except for a closer choice of nodes while there are scheduling gates)"
	}
	return ""
}

func restoreImages(now, old []corev1.Container) {
	for i := range now {
		if i < len(old) {
			now[i].Image = old[i].Image
		}
	}
}

// restoreNodeAffinity makes an affinity that has only the old node affinity equal to the old
// affinity, which may be nil.
func restoreNodeAffinity(now, old *core.PodSpec) {
	var before *corev1.NodeAffinity
	if old.Affinity != nil {
		before = old.Affinity.NodeAffinity
	}
	if now.Affinity != nil && equality.Semantic.DeepEqual(now.Affinity.NodeAffinity, before) {
		return
	}
	if now.Affinity == nil {
		now.Affinity = &corev1.Affinity{}
	}
	now.Affinity.NodeAffinity = before
	if old.Affinity == nil && *now.Affinity == (corev1.Affinity{}) {
		now.Affinity = nil
	}
}

// deadlineUpdate checks that a deadline is only shortened. The second result is true if nothing
// else must be checked.
func deadlineUpdate(path *field.Path, now, old *int64) (field.ErrorList, bool) {
	switch {
	case now == nil && old == nil:
		return nil, false
	case now == nil:
		return errorList(field.Invalid(path, nil, "may not be removed once set")), false
	case *now < 0 || *now > math.MaxInt32:
		return between(path, *now, 0, math.MaxInt32), true
	case old != nil && *now > *old:
		return errorList(field.Invalid(path, *now, "must be less than or equal to the previous value")), true
	}
	return nil, false
}

// tolerationsUpdate checks that all old tolerations still exist. Only their tolerationSeconds may
// have changed.
func tolerationsUpdate(path *field.Path, now, old []corev1.Toleration) field.ErrorList {
	for i := range old {
		kept := slices.ContainsFunc(now, func(candidate corev1.Toleration) bool {
			candidate.TolerationSeconds = old[i].TolerationSeconds
			return candidate == old[i]
		})
		if !kept {
			return errorList(field.Forbidden(
				path,
				"existing tolerations may not be changed, except for `tolerationSeconds`: the one of key `"+old[i].Key+"` is missing",
			))
		}
	}
	return nil
}

func gatesUpdate(path *field.Path, now, old []corev1.PodSchedulingGate) field.ErrorList {
	seen := make(map[string]bool, len(old))
	for _, gate := range old {
		seen[gate.Name] = true
	}
	var errs field.ErrorList
	// The last of several equal ones is reported.
	for i, n := range slices.Backward(now) {
		if name := n.Name; !seen[name] {
			seen[name] = true
			errs = append(errs,
				field.Forbidden(path.Index(i).Child("name"), "scheduling gates may only be removed after creation"))
		}
	}
	return errs
}

// gatedUpdate checks that the node selection of a gated pod is only narrowed.
func gatedUpdate(path *field.Path, spec, old *core.PodSpec) field.ErrorList {
	if len(old.SchedulingGates) == 0 {
		return nil
	}
	var errs field.ErrorList
	for label, value := range old.NodeSelector {
		if now, ok := spec.NodeSelector[label]; !ok || now != value {
			errs = append(errs, field.Invalid(path.Child("nodeSelector"), label, "only additions are allowed"))
		}
	}
	before, now := requiredNodes(old.Affinity), requiredNodes(spec.Affinity)
	if before == nil || len(before.NodeSelectorTerms) == 0 {
		return errs
	}
	at := path.Child("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
	if now == nil || len(now.NodeSelectorTerms) != len(before.NodeSelectorTerms) {
		return append(errs, field.Invalid(at, nil, "terms may neither be added nor removed"))
	}
	for i := range before.NodeSelectorTerms {
		if !isNarrowed(&now.NodeSelectorTerms[i], &before.NodeSelectorTerms[i]) {
			errs = append(errs, field.Invalid(at.Index(i), nil, "only additions are allowed"))
		}
	}
	return errs
}

func requiredNodes(a *corev1.Affinity) *corev1.NodeSelector {
	if a == nil || a.NodeAffinity == nil {
		return nil
	}
	return a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
}

// isNarrowed reports whether a term starts with the old one. An empty term matches no node, so that
// an addition would widen it.
func isNarrowed(now, old *corev1.NodeSelectorTerm) bool {
	if len(old.MatchExpressions)+len(old.MatchFields) == 0 {
		return len(now.MatchExpressions)+len(now.MatchFields) == 0
	}
	return hasPrefix(now.MatchExpressions, old.MatchExpressions) && hasPrefix(now.MatchFields, old.MatchFields)
}

func hasPrefix(now, old []corev1.NodeSelectorRequirement) bool {
	return len(now) >= len(old) && equality.Semantic.DeepEqual(now[:len(old)], old)
}
