package printers

import (
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DeviceTaintRule returns the printer of DeviceTaintRules. It leaves out which devices a rule is
// for, whose description has no bounded length.
func DeviceTaintRule() Printer {
	doc := resourcev1.DeviceTaint{}
	return typed([]metav1.TableColumnDefinition{
		nameColumn(),
		column("Key", "string", doc, "key"),
		column("Value", "string", doc, "value"),
		column("Effect", "string", doc, "effect"),
		column("TimeAdded", "string", doc, "timeAdded"),
		ageColumn(),
	}, func(r *resourcev1.DeviceTaintRule, now time.Time) []any {
		taint, added := r.Spec.Taint, ""
		if taint.TimeAdded != nil {
			added = age(*taint.TimeAdded, now)
		}
		return []any{r.Name, taint.Key, taint.Value, string(taint.Effect), added, age(r.CreationTimestamp, now)}
	})
}
