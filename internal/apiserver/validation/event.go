package validation

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Limits of events of the new format, which have an event time.
const (
	maxEventText    = 128
	maxEventMessage = 1024
)

// ValidateEvent checks a new event of the core group. Its name starts with the name of any object,
// and therefore need not be a DNS name. Its finalizers need no domain.
func ValidateEvent(event *corev1.Event) field.ErrorList {
	return orMetadata(eventContent(event),
		func() field.ErrorList { return objectMeta(&event.ObjectMeta, namespaced, pathName) })
}

// pathName checks that a name, or the prefix of one, can be used in a path.
func pathName(name string, prefix bool) []string {
	if prefix {
		return content.IsPathSegmentPrefix(name)
	}
	return content.IsPathSegmentName(name)
}

// ValidateEventUpdate checks a change of an event of the core group, such as another occurrence.
func ValidateEventUpdate(event, old *corev1.Event) field.ErrorList {
	return orMetadata(eventContent(event),
		func() field.ErrorList { return objectMetaUpdate(&event.ObjectMeta, &old.ObjectMeta) })
}

// ValidateNewerEvent checks a new event of events.k8s.io. It must be in the new format, without
// deprecated fields, and its metadata is checked as that of other kinds is.
func ValidateNewerEvent(event *corev1.Event) field.ErrorList {
	errs := join(
		eventContent(event),
		metadata(&event.ObjectMeta, namespaced, apivalidation.NameIsDNSSubdomain),
		eventSeries(event.Series),
		check(slices.Contains([]string{corev1.EventTypeNormal, corev1.EventTypeWarning}, event.Type), field.NewPath("type"),
			event.Type, `must be "Normal" or "Warning"`),
	)
	if event.EventTime.IsZero() {
		errs = append(errs, field.Required(field.NewPath("eventTime"), ""))
	}
	for _, older := range []member{
		{"firstTimestamp", !event.FirstTimestamp.IsZero()}, {"lastTimestamp", !event.LastTimestamp.IsZero()},
		{"count", event.Count != 0}, {"source", event.Source != corev1.EventSource{}},
	} {
		if older.set {
			errs = append(errs, field.Invalid(field.NewPath(older.name), "", "may not be set"))
		}
	}
	return errs
}

// ValidateNewerEventUpdate checks a change of an event of events.k8s.io. Only the metadata and the
// series may change.
func ValidateNewerEventUpdate(event, old *corev1.Event) field.ErrorList {
	var errs field.ErrorList
	if !equality.Semantic.DeepEqual(event.Series, old.Series) {
		errs = eventSeries(event.Series)
	}
	return join(
		eventContent(event),
		metadataUpdate(&event.ObjectMeta, &old.ObjectMeta),
		errs,
		immutableField(field.NewPath("involvedObject"), event.InvolvedObject, old.InvolvedObject),
		immutableField(field.NewPath("reason"), event.Reason, old.Reason),
		immutableField(field.NewPath("message"), event.Message, old.Message),
		immutableField(field.NewPath("source"), event.Source, old.Source),
		immutableField(field.NewPath("firstTimestamp"), event.FirstTimestamp, old.FirstTimestamp),
		immutableField(field.NewPath("lastTimestamp"), event.LastTimestamp, old.LastTimestamp),
		immutableField(field.NewPath("count"), event.Count, old.Count),
		immutableField(field.NewPath("type"), event.Type, old.Type),
		// Protobuf once stored its nanoseconds, which JSON never had.
		immutableField(field.NewPath("eventTime"), metav1.NewMicroTime(event.EventTime.Truncate(time.Microsecond)),
			metav1.NewMicroTime(old.EventTime.Truncate(time.Microsecond))),
		immutableField(field.NewPath("action"), event.Action, old.Action),
		immutableField(field.NewPath("related"), event.Related, old.Related),
		immutableField(field.NewPath("reportingController"), event.ReportingController, old.ReportingController),
		immutableField(field.NewPath("reportingInstance"), event.ReportingInstance, old.ReportingInstance),
	)
}

func eventSeries(series *corev1.EventSeries) field.ErrorList {
	if series == nil {
		return nil
	}
	path := field.NewPath("series")
	errs := check(series.Count >= 2, path.Child("count"), series.Count, "must be greater than or equal to 2")
	if series.LastObservedTime.IsZero() {
		errs = append(errs, field.Required(path.Child("lastObservedTime"), ""))
	}
	return errs
}

// eventContent checks the content of an event. An event is in the namespace of the object that it
// regards, or in default if the object has none.
func eventContent(event *corev1.Event) field.ErrorList {
	about := event.InvolvedObject.Namespace
	homes := []string{about}
	switch newer := !event.EventTime.IsZero(); {
	case about != "" && newer:
		homes = []string{event.Namespace}
	case newer:
		homes = []string{metav1.NamespaceDefault, metav1.NamespaceSystem}
	case about == "":
		homes = []string{metav1.NamespaceNone, metav1.NamespaceDefault}
	}
	errs := check(slices.Contains(homes, event.Namespace), field.NewPath("involvedObject", "namespace"), about,
		"does not match event.namespace")
	if event.EventTime.IsZero() {
		return errs
	}
	return join(errs,
		required(field.NewPath("reportingComponent"), event.ReportingController),
		wellFormed(field.NewPath("reportingComponent"), event.ReportingController, validation.IsQualifiedName),
		text(field.NewPath("reportingInstance"), event.ReportingInstance),
		text(field.NewPath("action"), event.Action),
		text(field.NewPath("reason"), event.Reason),
		when(len(event.Message) > maxEventMessage, func() field.ErrorList {
			return errorList(field.Invalid(field.NewPath("message"), "", "must have at most 1024 characters"))
		}),
	)
}

func text(path *field.Path, value string) field.ErrorList {
	if len(value) > maxEventText {
		return errorList(field.Invalid(path, "", "must have at most 128 characters"))
	}
	return required(path, value)
}
