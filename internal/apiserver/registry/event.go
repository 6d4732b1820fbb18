package registry

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/allot-dev/allot/internal/apiserver/printers"
	"github.com/allot-dev/allot/internal/apiserver/rbac"
	"github.com/allot-dev/allot/internal/apiserver/validation"
)

// eventTTLSeconds is the time for which an event is kept after its last change.
const eventTTLSeconds = 60 * 60

type eventEntry = kind[corev1.Event, *corev1.Event]

func events() entry {
	return &eventEntry{
		names:          names{versions: v1, plural: "events", singular: "event", short: []string{"ev"}},
		newList:        func() runtime.Object { return &corev1.EventList{} },
		defaults:       noDefaults[*corev1.Event],
		printer:        printers.Event,
		class:          rbac.ReadWrite,
		createOnUpdate: true,
		ttlSeconds:     eventTTLSeconds,
		fields:         eventFields,
		fieldIn:        eventField,
		validate:       func(*corev1.Event) field.ErrorList { return nil }, // by group, in validateIn
		validateUpdate: func(_, _ *corev1.Event) field.ErrorList { return nil },
		validateIn: func(ctx context.Context, e, old *corev1.Event) field.ErrorList {
			info, ok := genericapirequest.RequestInfoFrom(ctx)
			switch newer := ok && info.APIGroup == eventsv1.GroupName; {
			case newer && old == nil:
				return validation.ValidateNewerEvent(e)
			case newer:
				return validation.ValidateNewerEventUpdate(e, old)
			case old == nil:
				return validation.ValidateEvent(e)
			default:
				return validation.ValidateEventUpdate(e, old)
			}
		},
	}
}

// newerEvents serves the same events in the group events.k8s.io, with the fields of that group.
type newerEvents struct {
	*storage
}

var _ rest.GroupVersionKindProvider = newerEvents{}

// GroupVersionKind implements rest.GroupVersionKindProvider.
func (newerEvents) GroupVersionKind(schema.GroupVersion) schema.GroupVersionKind {
	return eventsv1.SchemeGroupVersion.WithKind("Event")
}

// eventField converts the field name of a stored event to a group: events.k8s.io has other names.
func eventField(gv schema.GroupVersion, field string) string {
	if gv.Group != eventsv1.GroupName {
		return field
	}
	first, rest, nested := strings.Cut(field, ".")
	switch first {
	case "involvedObject":
		first = "regarding"
	case "message":
		first = "note"
	case "reportingComponent":
		first = "reportingController"
	case "source":
		first = "deprecatedSource"
	case "count":
		first = "deprecatedCount"
	case "firstTimestamp":
		first = "deprecatedFirstTimestamp"
	case "lastTimestamp":
		first = "deprecatedLastTimestamp"
	}
	if nested {
		return first + "." + rest
	}
	return first
}

// newerEventFields maps the selectable fields of events.k8s.io to those of the stored version.
func newerEventFields() map[string]string {
	out := map[string]string{
		"metadata.name": "metadata.name", "metadata.namespace": "metadata.namespace",
		"reason": "reason", "type": "type", "reportingController": "reportingComponent",
	}
	for _, name := range []string{"kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"} {
		out["regarding."+name] = "involvedObject." + name
	}
	return out
}

// addNewerEvents serves the stored events in their second group.
func (r *Registry) addNewerEvents() error {
	events, ok := r.groups[""]["v1"]["events"].(*storage)
	if !ok {
		return fmt.Errorf("storage of events is a %T", r.groups[""]["v1"]["events"])
	}
	gv := eventsv1.SchemeGroupVersion
	r.groups[gv.Group] = map[string]map[string]rest.Storage{gv.Version: {"events": newerEvents{events}}}
	known := newerEventFields()
	return r.scheme.AddFieldLabelConversionFunc(gv.WithKind("Event"), func(label, value string) (string, string, error) {
		stored, ok := known[label]
		if !ok {
			return "", "", fmt.Errorf("field label not supported: %s", label)
		}
		return stored, value, nil
	})
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
