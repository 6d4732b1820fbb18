package printers

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// LimitRange returns the printer of LimitRanges.
func LimitRange() Printer {
	return typed(
		[]metav1.TableColumnDefinition{nameColumn(), createdColumn()},
		func(l *corev1.LimitRange, _ time.Time) []any {
			return []any{l.Name, created(l.CreationTimestamp)}
		},
	)
}
