package validation

import (
	"math"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	core "github.com/allot-dev/allot/api/core/v1"
)

// ValidatePodUpdate checks a change of a pod. What a pod is to run is settled at
// its creation; only images, a shorter deadline, further tolerations and fewer
// scheduling gates are accepted later, and, while there are gates, a closer choice
// of nodes.
func ValidatePodUpdate(pod, old *core.Pod) field.ErrorList {
	path := field.NewPath("spec")
	errs := metadataUpdate(&pod.ObjectMeta, &old.ObjectMeta)
	if equality.Semantic.DeepEqual(pod.Spec, old.Spec) {
		return errs
	}
	return join(errs,
		podSpec(path, &pod.Spec),
		podOnly(path, &pod.Spec),
		deadlineUpdate(path.Child("activeDeadlineSeconds"), pod.Spec.ActiveDeadlineSeconds, old.Spec.ActiveDeadlineSeconds),
		tolerationsUpdate(path.Child("tolerations"), pod.Spec.Tolerations, old.Spec.Tolerations),
		gatesUpdate(path.Child("schedulingGates"), pod.Spec.SchedulingGates, old.Spec.SchedulingGates),
		gatedUpdate(path, &pod.Spec, &old.Spec),
		fixedPodFields(path, &pod.Spec, &old.Spec),
	)
}

// fixedPodFields reports each field of the spec that changed and may not. It undoes
// the permitted changes on a copy, and compares field by field.
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
	var errs field.ErrorList
	a, b := reflect.ValueOf(now).Elem(), reflect.ValueOf(old).Elem()
	for i := range a.NumField() {
		if !equality.Semantic.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
			name, _, _ := strings.Cut(a.Type().Field(i).Tag.Get("json"), ",")
			errs = append(errs, field.Forbidden(path.Child(name), "pod updates may not change this field"+allowance(name)))
		}
	}
	return errs
}

func allowance(name string) string {
	switch name {
	case "containers", "initContainers":
		return ", except for the images of existing containers"
	case "nodeSelector", "affinity":
		return ", except for a closer choice of nodes while there are scheduling gates"
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

// restoreNodeAffinity leaves an affinity that only holds the old node affinity
// equal to the old one, whether or not there was an affinity at all.
func restoreNodeAffinity(now, old *core.PodSpec) {
	var before *corev1.NodeAffinity
	if old.Affinity != nil {
		before = old.Affinity.NodeAffinity
	}
	if now.Affinity == nil {
		now.Affinity = &corev1.Affinity{}
	}
	now.Affinity.NodeAffinity = before
	if old.Affinity == nil && *now.Affinity == (corev1.Affinity{}) {
		now.Affinity = nil
	}
}

func deadlineUpdate(path *field.Path, now, old *int64) field.ErrorList {
	switch {
	case old == nil:
		return nil
	case now == nil:
		return one(field.Invalid(path, nil, "may not be removed once set"))
	default:
		return check(*now <= *old && *now <= math.MaxInt32, path, *now, "must be less than or equal to the previous value")
	}
}

// tolerationsUpdate wants every old toleration to be there still; only its
// tolerationSeconds may have changed.
func tolerationsUpdate(path *field.Path, now, old []corev1.Toleration) field.ErrorList {
	var errs field.ErrorList
	for i := range old {
		kept := false
		for j := range now {
			candidate := now[j]
			candidate.TolerationSeconds = old[i].TolerationSeconds
			kept = kept || equality.Semantic.DeepEqual(candidate, old[i])
		}
		if !kept {
			errs = append(errs, field.Forbidden(path,
				"existing tolerations may not be changed, except for `tolerationSeconds`: the one of key `"+old[i].Key+"` is missing"))
		}
	}
	return errs
}

func gatesUpdate(path *field.Path, now, old []corev1.PodSchedulingGate) field.ErrorList {
	had := make(map[string]bool, len(old))
	for _, gate := range old {
		had[gate.Name] = true
	}
	return each(path, now, func(at *field.Path, gate *corev1.PodSchedulingGate) field.ErrorList {
		if had[gate.Name] {
			return nil
		}
		return one(field.Forbidden(at, "scheduling gates may only be removed after creation"))
	})
}

// gatedUpdate checks that a pod that may not be scheduled yet is only narrowed.
func gatedUpdate(path *field.Path, spec, old *core.PodSpec) field.ErrorList {
	if len(old.SchedulingGates) == 0 {
		return nil
	}
	var errs field.ErrorList
	for label, value := range old.NodeSelector {
		if now, ok := spec.NodeSelector[label]; !ok || now != value {
			errs = append(errs, field.Invalid(path.Child("nodeSelector").Key(label), now, "only additions are allowed"))
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
		if !narrowed(&now.NodeSelectorTerms[i], &before.NodeSelectorTerms[i]) {
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

// narrowed says whether a term still begins with what it was. An empty term matches
// no node, so that an addition would widen it.
func narrowed(now, old *corev1.NodeSelectorTerm) bool {
	if len(old.MatchExpressions)+len(old.MatchFields) == 0 {
		return len(now.MatchExpressions)+len(now.MatchFields) == 0
	}
	return begins(now.MatchExpressions, old.MatchExpressions) && begins(now.MatchFields, old.MatchFields)
}

func begins(now, old []corev1.NodeSelectorRequirement) bool {
	return len(now) >= len(old) && equality.Semantic.DeepEqual(now[:len(old)], old)
}
