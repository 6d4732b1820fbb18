package validation

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Limits of events of the newer form, which have an event time.
const (
	maxEventText    = 128
	maxEventMessage = 1024
)

// ValidateEvent checks a new event. Its name begins with the name of any object, so
// it need not be a DNS name.
func ValidateEvent(event *corev1.Event) field.ErrorList {
	return append(metadata(&event.ObjectMeta, namespaced, eventName), eventContent(event)...)
}

// eventName keeps a name, or the beginning of one, usable in a path.
func eventName(name string, prefix bool) []string {
	if prefix {
		return content.IsPathSegmentPrefix(name)
	}
	return content.IsPathSegmentName(name)
}

// ValidateEventUpdate checks a change of an event, such as a further occurrence.
func ValidateEventUpdate(event, old *corev1.Event) field.ErrorList {
	return append(metadataUpdate(&event.ObjectMeta, &old.ObjectMeta), eventContent(event)...)
}

// eventContent checks what an event says. An event lies in the namespace of the
// object that it is about, or in default where that has none.
func eventContent(event *corev1.Event) field.ErrorList {
	about := event.InvolvedObject.Namespace
	homes := []string{about}
	if about == "" {
		homes = []string{metav1.NamespaceNone, metav1.NamespaceDefault}
		if !event.EventTime.IsZero() {
			homes = []string{metav1.NamespaceDefault, metav1.NamespaceSystem}
		}
	}
	errs := check(slices.Contains(homes, event.Namespace), field.NewPath("involvedObject", "namespace"), about, "does not match event.namespace")
	if event.EventTime.IsZero() {
		return errs
	}
	return join(errs,
		form(field.NewPath("reportingComponent"), event.ReportingController, validation.IsQualifiedName),
		text(field.NewPath("reportingInstance"), event.ReportingInstance),
		text(field.NewPath("action"), event.Action),
		text(field.NewPath("reason"), event.Reason),
		when(len(event.Message) > maxEventMessage, func() field.ErrorList {
			return one(field.TooLong(field.NewPath("message"), "", maxEventMessage))
		}),
	)
}

func text(path *field.Path, value string) field.ErrorList {
	if len(value) > maxEventText {
		return one(field.TooLong(path, "", maxEventText))
	}
	return required(path, value)
}
