package namespace

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Report is the result of one attempt to empty a namespace.
type Report struct {
	Discovery  error                        // error of discovery
	Content    []error                      // errors of lists and deletions
	Remaining  map[schema.GroupResource]int // remaining objects, by kind
	Finalizers map[string]int               // remaining objects, by finalizer
}

// IsEmpty reports whether certainly nothing is left.
func (r Report) IsEmpty() bool {
	return r.Discovery == nil && len(r.Content) == 0 && len(r.Remaining) == 0
}

// add counts the remaining objects of one kind.
func (r *Report) add(resource schema.GroupResource, left []metav1.PartialObjectMetadata) {
	if len(left) == 0 {
		return
	}
	if r.Remaining == nil {
		r.Remaining, r.Finalizers = map[schema.GroupResource]int{}, map[string]int{}
	}
	r.Remaining[resource] = len(left)
	for _, item := range left {
		for _, finalizer := range item.Finalizers {
			r.Finalizers[finalizer]++
		}
	}
}

// Conditions returns the conditions for the report; changed is false if they are the same as old.
func Conditions(
	old []corev1.NamespaceCondition, r Report, now time.Time,
) (conditions []corev1.NamespaceCondition, changed bool) {
	conditions = slices.Clone(old)
	for _, c := range r.conditions() {
		c.LastTransitionTime = metav1.NewTime(now)
		i := slices.IndexFunc(conditions, func(o corev1.NamespaceCondition) bool { return o.Type == c.Type })
		if i < 0 {
			conditions, changed = append(conditions, c), true
			continue
		}
		o := &conditions[i]
		if o.Status == c.Status && o.Reason == c.Reason && o.Message == c.Message {
			continue
		}
		if o.Status == c.Status {
			c.LastTransitionTime = o.LastTransitionTime
		}
		*o, changed = c, true
	}
	return conditions, changed
}

// conditions returns all conditions of a terminating namespace. Each is True if it is a reason why
// the namespace still exists.
func (r Report) conditions() []corev1.NamespaceCondition {
	content := make([]string, len(r.Content))
	for i, err := range r.Content {
		content[i] = err.Error()
	}
	slices.Sort(content)
	return []corev1.NamespaceCondition{
		conditionOf(corev1.NamespaceDeletionDiscoveryFailure, r.Discovery != nil,
			conditionCause{"DiscoveryFailed", fmt.Sprint(r.Discovery)},
			conditionCause{"ResourcesDiscovered", "All resources successfully discovered"}),
		conditionOf(corev1.NamespaceDeletionGVParsingFailure, false,
			conditionCause{},
			conditionCause{"ParsedGroupVersions", "All legacy kube types successfully parsed"}),
		conditionOf(
			corev1.NamespaceDeletionContentFailure,
			len(content) > 0,
			conditionCause{
				"ContentDeletionFailed",
				fmt.Sprintf("Failed to delete all resource types, %d remaining: %s", len(content), strings.Join(content, ", ")),
			},
			conditionCause{"ContentDeleted", "All content successfully deleted, may be waiting on finalization"},
		),
		conditionOf(corev1.NamespaceContentRemaining, len(r.Remaining) > 0,
			conditionCause{"SomeResourcesRemain", "Some resources are remaining: " + countByKind(r.Remaining)},
			conditionCause{"ContentRemoved", "All content successfully removed"}),
		conditionOf(
			corev1.NamespaceFinalizersRemaining,
			len(r.Finalizers) > 0,
			conditionCause{
				"SomeFinalizersRemain",
				"Some content in the namespace has finalizers remaining: " + countByFinalizer(r.Finalizers),
			},
			conditionCause{"ContentHasNoFinalizers", "All content-preserving finalizers finished"},
		),
	}
}

// conditionCause is the reason and message of a condition.
type conditionCause struct{ reason, message string }

func conditionOf(t corev1.NamespaceConditionType, bad bool, ifBad, ifGood conditionCause) corev1.NamespaceCondition {
	if bad {
		return corev1.NamespaceCondition{Type: t, Status: corev1.ConditionTrue, Reason: ifBad.reason, Message: ifBad.message}
	}
	return corev1.NamespaceCondition{
		Type:    t,
		Status:  corev1.ConditionFalse,
		Reason:  ifGood.reason,
		Message: ifGood.message,
	}
}

func countByKind(counts map[schema.GroupResource]int) string {
	var parts []string
	for resource, n := range counts {
		parts = append(parts, fmt.Sprintf("%s.%s has %d resource instances", resource.Resource, resource.Group, n))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

func countByFinalizer(counts map[string]int) string {
	var parts []string
	for _, finalizer := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s in %d resource instances", finalizer, counts[finalizer]))
	}
	return strings.Join(parts, ", ")
}
