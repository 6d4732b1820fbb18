package api

import (
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// addEvents adds events.k8s.io. Events of both groups are the same objects, and core/v1 is the hub.
func addEvents(scheme *runtime.Scheme) error {
	gv := eventsv1.SchemeGroupVersion
	metav1.AddToGroupVersion(scheme, gv)
	scheme.AddKnownTypes(gv, &eventsv1.Event{}, &eventsv1.EventList{})
	scheme.AddKnownTypes(schema.GroupVersion{Group: gv.Group, Version: runtime.APIVersionInternal}, &corev1.Event{},
		&corev1.EventList{})
	for _, p := range []struct {
		a, b       any
		aToB, bToA conversion.ConversionFunc
	}{
		{
			(*eventsv1.Event)(nil), (*corev1.Event)(nil),
			func(a, b any, _ conversion.Scope) error {
				eventToCore(a.(*eventsv1.Event), b.(*corev1.Event))
				return nil
			},
			func(b, a any, _ conversion.Scope) error {
				eventFromCore(b.(*corev1.Event), a.(*eventsv1.Event))
				return nil
			},
		},
		{
			(*eventsv1.EventList)(nil), (*corev1.EventList)(nil),
			func(a, b any, _ conversion.Scope) error {
				eventsToCore(a.(*eventsv1.EventList), b.(*corev1.EventList))
				return nil
			},
			func(b, a any, _ conversion.Scope) error {
				eventsFromCore(b.(*corev1.EventList), a.(*eventsv1.EventList))
				return nil
			},
		},
	} {
		if err := scheme.AddConversionFunc(p.a, p.b, p.aToB); err != nil {
			return err
		}
		if err := scheme.AddConversionFunc(p.b, p.a, p.bToA); err != nil {
			return err
		}
	}
	return scheme.SetVersionPriority(gv)
}

func eventToCore(in *eventsv1.Event, out *corev1.Event) {
	out.ObjectMeta = in.ObjectMeta
	out.InvolvedObject, out.Related = in.Regarding, in.Related
	out.Type, out.Reason, out.Message, out.Action = in.Type, in.Reason, in.Note, in.Action
	out.EventTime, out.Series = in.EventTime, (*corev1.EventSeries)(in.Series)
	out.ReportingController, out.ReportingInstance = in.ReportingController, in.ReportingInstance
	out.Source, out.Count = in.DeprecatedSource, in.DeprecatedCount
	out.FirstTimestamp, out.LastTimestamp = in.DeprecatedFirstTimestamp, in.DeprecatedLastTimestamp
}

func eventFromCore(in *corev1.Event, out *eventsv1.Event) {
	out.ObjectMeta = in.ObjectMeta
	out.Regarding, out.Related = in.InvolvedObject, in.Related
	out.Type, out.Reason, out.Note, out.Action = in.Type, in.Reason, in.Message, in.Action
	out.EventTime, out.Series = in.EventTime, (*eventsv1.EventSeries)(in.Series)
	out.ReportingController, out.ReportingInstance = in.ReportingController, in.ReportingInstance
	out.DeprecatedSource, out.DeprecatedCount = in.Source, in.Count
	out.DeprecatedFirstTimestamp, out.DeprecatedLastTimestamp = in.FirstTimestamp, in.LastTimestamp
}

func eventsToCore(in *eventsv1.EventList, out *corev1.EventList) {
	out.ListMeta, out.Items = in.ListMeta, make([]corev1.Event, len(in.Items))
	for i := range in.Items {
		eventToCore(&in.Items[i], &out.Items[i])
	}
}

func eventsFromCore(in *corev1.EventList, out *eventsv1.EventList) {
	out.ListMeta, out.Items = in.ListMeta, make([]eventsv1.Event, len(in.Items))
	for i := range in.Items {
		eventFromCore(&in.Items[i], &out.Items[i])
	}
}
