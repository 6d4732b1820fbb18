package registry

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/allot-dev/allot/internal/apiserver/validation"
)

// eventTTLSeconds is how long an event is kept after its last change.
const eventTTLSeconds = 60 * 60

type eventEntry = kind[corev1.Event, *corev1.Event]

func events() entry {
	return &eventEntry{
		names:          names{versions: v1, plural: "events", singular: "event", short: []string{"ev"}},
		newList:        func() runtime.Object { return &corev1.EventList{} },
		createOnUpdate: true,
		ttlSeconds:     eventTTLSeconds,
		fields:         eventFields,
		validate:       validation.ValidateEvent,
		validateUpdate: validation.ValidateEventUpdate,
	}
}

func eventFields(e *corev1.Event) fields.Set {
	source := e.Source.Component
	if source == "" {
		source = e.ReportingController
	}
	return fields.Set{
		"involvedObject.kind":            e.InvolvedObject.Kind,
		"involvedObject.namespace":       e.InvolvedObject.Namespace,
		"involvedObject.name":            e.InvolvedObject.Name,
		"involvedObject.uid":             string(e.InvolvedObject.UID),
		"involvedObject.apiVersion":      e.InvolvedObject.APIVersion,
		"involvedObject.resourceVersion": e.InvolvedObject.ResourceVersion,
		"involvedObject.fieldPath":       e.InvolvedObject.FieldPath,
		"reason":                         e.Reason,
		"reportingComponent":             e.ReportingController,
		"source":                         source,
		"type":                           e.Type,
	}
}
