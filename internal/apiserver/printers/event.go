package printers

import (
	"cmp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Event returns the printer of Events.
func Event() Printer {
	name := wideOnly(nameColumn())
	return typed([]metav1.TableColumnDefinition{
		column("Last Seen", "string", corev1.Event{}, "lastTimestamp"),
		column("Type", "string", corev1.Event{}, "type"),
		column("Reason", "string", corev1.Event{}, "reason"),
		column("Object", "string", corev1.Event{}, "involvedObject"),
		wideOnly(column("Subobject", "string", corev1.ObjectReference{}, "fieldPath")),
		wideOnly(column("Source", "string", corev1.Event{}, "source")),
		column("Message", "string", corev1.Event{}, "message"),
		wideOnly(column("First Seen", "string", corev1.Event{}, "firstTimestamp")),
		wideOnly(column("Count", "string", corev1.Event{}, "count")),
		name,
	}, eventCells)
}

// eventCells supports both formats of events: with first and last timestamps and a count, and with
// an event time and a series.
func eventCells(event *corev1.Event, now time.Time) []any {
	first := event.FirstTimestamp
	if first.IsZero() {
		first = metav1.Time(event.EventTime)
	}
	last := event.LastTimestamp
	if last.IsZero() {
		last = first
	}
	count := cmp.Or(event.Count, 1)
	if event.Series != nil {
		last, count = metav1.Time(event.Series.LastObservedTime), event.Series.Count
	}
	target := strings.ToLower(event.InvolvedObject.Kind)
	if event.InvolvedObject.Name != "" {
		target += "/" + event.InvolvedObject.Name
	}
	source := cmp.Or(event.Source.Component, event.ReportingController)
	if host := cmp.Or(event.Source.Host, event.ReportingInstance); host != "" {
		source += ", " + host
	}
	return []any{
		age(last, now), event.Type, event.Reason, target, event.InvolvedObject.FieldPath, source,
		strings.TrimSpace(event.Message), age(first, now), int64(count), event.Name,
	}
}
