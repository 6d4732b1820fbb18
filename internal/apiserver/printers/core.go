package printers

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// Namespace returns the printer of Namespaces.
func Namespace() Printer {
	return typed([]metav1.TableColumnDefinition{
		nameColumn(),
		computedColumn("Status", "string", "Whether the namespace is in use or being deleted."),
		ageColumn(),
	}, func(ns *corev1.Namespace, now time.Time) []any {
		return []any{ns.Name, string(ns.Status.Phase), age(ns.CreationTimestamp, now)}
	})
}

// ConfigMap returns the printer of ConfigMaps.
func ConfigMap() Printer {
	return typed([]metav1.TableColumnDefinition{
		nameColumn(),
		column("Data", "string", corev1.ConfigMap{}, "data"),
		ageColumn(),
	}, func(m *corev1.ConfigMap, now time.Time) []any {
		return []any{m.Name, int64(len(m.Data) + len(m.BinaryData)), age(m.CreationTimestamp, now)}
	})
}

// Secret returns the printer of Secrets.
func Secret() Printer {
	return typed([]metav1.TableColumnDefinition{
		nameColumn(),
		column("Type", "string", corev1.Secret{}, "type"),
		column("Data", "string", corev1.Secret{}, "data"),
		ageColumn(),
	}, func(s *corev1.Secret, now time.Time) []any {
		return []any{s.Name, string(s.Type), int64(len(s.Data)), age(s.CreationTimestamp, now)}
	})
}

// Lease returns the printer of Leases.
func Lease() Printer {
	return typed([]metav1.TableColumnDefinition{
		nameColumn(),
		column("Holder", "string", coordinationv1.LeaseSpec{}, "holderIdentity"),
		ageColumn(),
	}, func(l *coordinationv1.Lease, now time.Time) []any {
		return []any{l.Name, ptr.Deref(l.Spec.HolderIdentity, ""), age(l.CreationTimestamp, now)}
	})
}
