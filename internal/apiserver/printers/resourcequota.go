package printers

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ResourceQuota returns the printer of ResourceQuotas.
func ResourceQuota() Printer {
	return typed([]metav1.TableColumnDefinition{
		nameColumn(),
		computedColumn("Request", "string", "What is used, and what may be used, of requests and counts."),
		computedColumn("Limit", "string", "What is used, and what may be used, of limits."),
		ageColumn(),
	}, func(q *corev1.ResourceQuota, now time.Time) []any {
		var requests, limits []string
		for _, name := range slices.Sorted(maps.Keys(q.Status.Hard)) {
			used, hard := q.Status.Used[name], q.Status.Hard[name]
			text := fmt.Sprintf("%s: %s/%s", name, used.String(), hard.String())
			if strings.HasPrefix(string(name), "limits.") {
				limits = append(limits, text)
			} else {
				requests = append(requests, text)
			}
		}
		return []any{q.Name, strings.Join(requests, ", "), strings.Join(limits, ", "), age(q.CreationTimestamp, now)}
	})
}
