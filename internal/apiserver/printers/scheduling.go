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

	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// PriorityClass returns the printer of PriorityClasses.
func PriorityClass() Printer {
	doc := schedulingv1.PriorityClass{}
	return of([]metav1.TableColumnDefinition{
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
	return of([]metav1.TableColumnDefinition{
		nameColumn(),
		column("Policy", "string", doc, "schedulingPolicy"),
		computed("Workload", "string", "The Workload from which the group was created."),
		computed("Status", "string", "Whether the group is scheduled, and the reason if not."),
		ageColumn(),
		wide(computed("Claims", "string", "The group's claims: the name of each entry, and the ResourceClaim for it.")),
	}, func(g *scheduling.PodGroup, now time.Time) []any {
		policy, workload := "Basic", "<none>"
		if g.Spec.SchedulingPolicy.Gang != nil {
			policy = "Gang"
		}
		if g.Spec.WorkloadRef != nil {
			workload = g.Spec.WorkloadRef.WorkloadName
		}
		return []any{g.Name, policy, workload, podGroupStatus(&g.Status), age(g.CreationTimestamp, now), groupClaims(g)}
	})
}

// CompositePodGroup returns the printer of CompositePodGroups.
func CompositePodGroup() Printer {
	doc := schedulingv1alpha3.CompositePodGroupSpec{}
	return of([]metav1.TableColumnDefinition{
		nameColumn(),
		column("Policy", "string", doc, "schedulingPolicy"),
		computed("Workload", "string", "The Workload from which the group was created."),
		ageColumn(),
		wide(column("Parent", "string", doc, "parentCompositePodGroupName")),
	}, func(g *schedulingv1alpha3.CompositePodGroup, now time.Time) []any {
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
	placed := meta.FindStatusCondition(status.Conditions, scheduling.PodGroupScheduled)
	if placed == nil {
		placed = meta.FindStatusCondition(status.Conditions, schedulingv1beta1.PodGroupInitiallyScheduled)
	}
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
	return of([]metav1.TableColumnDefinition{
		nameColumn(),
		ageColumn(),
		wide(computed("Templates", "string", "The names of the PodGroup templates.")),
	}, func(w *scheduling.Workload, now time.Time) []any {
		names := make([]string, len(w.Spec.PodGroupTemplates))
		for i := range w.Spec.PodGroupTemplates {
			names[i] = w.Spec.PodGroupTemplates[i].Name
		}
		return []any{w.Name, age(w.CreationTimestamp, now), orNone(strings.Join(names, ","))}
	})
}
