package printers

import (
	"strings"
	"time"

	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/allot-dev/allot/api/scheduling/v1alpha3"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// PriorityClass returns the printer of PriorityClasses.
func PriorityClass() Printer {
	doc := schedulingv1.PriorityClass{}
	return typed([]metav1.TableColumnDefinition{
		nameColumn(),
		column("Value", "integer", doc, "value"),
		column("Global-Default", "boolean", doc, "globalDefault"),
		ageColumn(),
		column("PreemptionPolicy", "string", doc, "preemptionPolicy"),
	}, func(c *schedulingv1.PriorityClass, now time.Time) []any {
		return []any{
			c.Name, int64(c.Value), c.GlobalDefault, age(c.CreationTimestamp, now), string(ptr.Deref(c.PreemptionPolicy, "")),
		}
	})
}

// PodGroup returns the printer of PodGroups.
func PodGroup() Printer {
	doc := schedulingv1beta1.PodGroupSpec{}
	return typed([]metav1.TableColumnDefinition{
		nameColumn(),
		column("Policy", "string", doc, "schedulingPolicy"),
		computedColumn("Workload", "string", "The Workload from which the group was created."),
		computedColumn("Status", "string", "Whether the group is scheduled, and the reason if not."),
		ageColumn(),
		wideOnly(computedColumn("Claims", "string", "The group's claims: the name of each entry, and the ResourceClaim for it.")),
		wideOnly(computedColumn("Min", "integer", "How many pods are placed together at least.")),
		wideOnly(computedColumn("Reason", "string", "In short, why the group is not scheduled.")),
	}, func(g *scheduling.PodGroup, now time.Time) []any {
		policy, workload, least := "Basic", "<none>", int64(1)
		if gang := g.Spec.SchedulingPolicy.Gang; gang != nil {
			policy, least = "Gang", int64(gang.MinCount)
		}
		if g.Spec.WorkloadRef != nil {
			workload = g.Spec.WorkloadRef.WorkloadName
		}
		return []any{
			g.Name, policy, workload, podGroupStatus(&g.Status), age(g.CreationTimestamp, now), groupClaims(g),
			least, podGroupReason(&g.Status),
		}
	})
}

// CompositePodGroup returns the printer of CompositePodGroups.
func CompositePodGroup() Printer {
	doc := schedulingv1alpha3.CompositePodGroupSpec{}
	return typed([]metav1.TableColumnDefinition{
		nameColumn(),
		column("Policy", "string", doc, "schedulingPolicy"),
		computedColumn("Workload", "string", "The Workload from which the group was created."),
		ageColumn(),
		wideOnly(column("Parent", "string", doc, "parentCompositePodGroupName")),
	}, func(g *v1alpha3.CompositePodGroup, now time.Time) []any {
		policy, workload := "Basic", "<none>"
		if g.Spec.SchedulingPolicy.Gang != nil {
			policy = "Gang"
		}
		if g.Spec.WorkloadRef != nil {
			workload = g.Spec.WorkloadRef.WorkloadName
		}
		return []any{
			g.Name,
			policy,
			workload,
			age(g.CreationTimestamp, now),
			orNone(ptr.Deref(g.Spec.ParentCompositePodGroupName, "")),
		}
	})
}

// podGroupStatus prefers the condition for the current state over the one for the initial
// scheduling.
func podGroupStatus(status *schedulingv1beta1.PodGroupStatus) string {
	// The condition is False when the group has been scheduled again, and has no further meaning
	// then.
	if c := meta.FindStatusCondition(status.Conditions, schedulingv1beta1.DisruptionTarget); c != nil &&
		c.Status == metav1.ConditionTrue {
		return c.Reason
	}
	placed := scheduledCondition(status)
	switch {
	case placed == nil:
		return "Pending"
	case placed.Status == metav1.ConditionTrue:
		return "Scheduled"
	case placed.Reason == schedulingv1beta1.PodGroupReasonSchedulerError:
		return placed.Reason
	default:
		return "Unschedulable"
	}
}

// scheduledCondition returns the condition for the current state, or the one for the initial
// scheduling if there is no other, or nil.
func scheduledCondition(status *schedulingv1beta1.PodGroupStatus) *metav1.Condition {
	if current := meta.FindStatusCondition(status.Conditions, scheduling.PodGroupScheduled); current != nil {
		return current
	}
	return meta.FindStatusCondition(status.Conditions, schedulingv1beta1.PodGroupInitiallyScheduled)
}

// maxReason is the largest length of a reason in a table, in bytes.
const maxReason = 100

// podGroupReason returns the message of the condition of a group that is not scheduled, shortened at
// the end of a word.
func podGroupReason(status *schedulingv1beta1.PodGroupStatus) string {
	condition := scheduledCondition(status)
	if condition == nil || condition.Status == metav1.ConditionTrue {
		return "<none>"
	}
	message := strings.Join(strings.Fields(condition.Message), " ")
	if len(message) <= maxReason {
		return orNone(message)
	}
	cut := strings.ToValidUTF8(message[:maxReason], "")
	if end := strings.LastIndexByte(cut, ' '); end > 0 {
		cut = cut[:end]
	}
	return strings.TrimRight(cut, ",;:") + " …"
}

func groupClaims(g *scheduling.PodGroup) string {
	made := map[string]string{}
	for _, s := range g.Status.ResourceClaimStatuses {
		made[s.Name] = ptr.Deref(s.ResourceClaimName, "<none>")
	}
	texts := make([]string, 0, len(g.Spec.ResourceClaims))
	for i := range g.Spec.ResourceClaims {
		entry := &g.Spec.ResourceClaims[i]
		text := entry.Name
		if name, ok := made[entry.Name]; ok {
			text += "=" + name
		} else if entry.ResourceClaimName != nil {
			text += "=" + *entry.ResourceClaimName
		}
		texts = append(texts, text)
	}
	return orNone(strings.Join(texts, ","))
}

// Workload returns the printer of Workloads.
func Workload() Printer {
	return typed([]metav1.TableColumnDefinition{
		nameColumn(),
		ageColumn(),
		wideOnly(computedColumn("Templates", "string", "The names of the PodGroup templates.")),
	}, func(w *scheduling.Workload, now time.Time) []any {
		names := make([]string, len(w.Spec.PodGroupTemplates))
		for i := range w.Spec.PodGroupTemplates {
			names[i] = w.Spec.PodGroupTemplates[i].Name
		}
		return []any{w.Name, age(w.CreationTimestamp, now), orNone(strings.Join(names, ","))}
	})
}
