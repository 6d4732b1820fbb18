package printers

import (
	"time"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// PodDisruptionBudget returns the printer of PodDisruptionBudgets.
func PodDisruptionBudget() Printer {
	spec, status := policyv1.PodDisruptionBudgetSpec{}, policyv1.PodDisruptionBudgetStatus{}
	return typed([]metav1.TableColumnDefinition{
		nameColumn(),
		column("Min Available", "string", spec, "minAvailable"),
		column("Max Unavailable", "string", spec, "maxUnavailable"),
		column("Allowed Disruptions", "integer", status, "disruptionsAllowed"),
		ageColumn(),
	}, func(b *policyv1.PodDisruptionBudget, now time.Time) []any {
		return []any{
			b.Name, orNotSaid(b.Spec.MinAvailable), orNotSaid(b.Spec.MaxUnavailable), int64(b.Status.DisruptionsAllowed),
			age(b.CreationTimestamp, now),
		}
	})
}

func orNotSaid(n *intstr.IntOrString) string {
	if n == nil {
		return "N/A"
	}
	return n.String()
}
