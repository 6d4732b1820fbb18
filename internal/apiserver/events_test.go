package apiserver_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

func newerEvent(ns string) *eventsv1.Event {
	return &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Name: "e", Namespace: ns},
		Regarding:  corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: ns, Name: "p"},
		Type:       corev1.EventTypeNormal, Reason: "Tested", Action: "Testing", Note: "all is well",
		EventTime: metav1.NowMicro(), ReportingController: "example.com/test", ReportingInstance: "test-1",
	}
}

// TestEventsOfBothGroups writes an event in one group and reads it in the other.
func TestEventsOfBothGroups(t *testing.T) {
	ns, client := namespace(t), clientset(t, remote(t))
	newer, older := client.EventsV1().Events(ns), client.CoreV1().Events(ns)
	w, err := newer.Watch(t.Context(), metav1.ListOptions{FieldSelector: "regarding.name=p"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	if _, err := newer.Create(t.Context(), newerEvent(ns), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	core, err := older.Get(t.Context(), "e", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if core.InvolvedObject.Name != "p" || core.Message != "all is well" || core.ReportingController != "example.com/test" {
		t.Errorf("in core/v1: %+v", core)
	}
	if e := receiveInTime(t, w.ResultChan()); e.Type != watch.Added || e.Object.(*eventsv1.Event).Note != "all is well" {
		t.Errorf("watch: %v", e)
	}
	patched, err := newer.Patch(t.Context(), "e", types.StrategicMergePatchType,
		[]byte(`{"series":{"count":2,"lastObservedTime":"2026-01-01T00:00:00.000000Z"}}`), metav1.PatchOptions{})
	if err != nil || patched.Series == nil || patched.Series.Count != 2 {
		t.Errorf("a series: %v, %+v", err, patched.Series)
	}
	now := metav1.NewTime(time.Now())
	if _, err := older.Create(t.Context(), &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Name: "old", Namespace: ns},
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: ns, Name: "q"}, Message: "of old", Count: 3,
		LastTimestamp: now,
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	list, err := newer.List(t.Context(), metav1.ListOptions{FieldSelector: "regarding.kind=Pod,regarding.name=q"})
	if err != nil || len(list.Items) != 1 || list.Items[0].Note != "of old" || list.Items[0].DeprecatedCount != 3 {
		t.Errorf("list: %v, %+v", err, list.Items)
	}
	if _, err := newer.List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=q"}); err == nil {
		t.Error("events.k8s.io knows a field of the other group")
	}
}

// TestNewerEventsAreStrict checks that events.k8s.io rejects events that core/v1 accepts.
func TestNewerEventsAreStrict(t *testing.T) {
	ns, client := namespace(t), clientset(t, remote(t))
	newer := client.EventsV1().Events(ns)
	bad := newerEvent(ns)
	bad.Name, bad.Type, bad.DeprecatedCount, bad.DeprecatedSource.Component = "Not_DNS", "Odd", 1, "me"
	bad.DeprecatedFirstTimestamp, bad.DeprecatedLastTimestamp = metav1.Now(), metav1.Now()
	bad.Series = &eventsv1.EventSeries{Count: 1}
	_, err := newer.Create(t.Context(), bad, metav1.CreateOptions{})
	got := causes(t, err)
	slices.Sort(got)
	if want := []string{"deprecatedCount", "deprecatedFirstTimestamp", "deprecatedLastTimestamp", "deprecatedSource",
		"metadata.name", "series.count", "series.lastObservedTime", "type"}; !slices.Equal(
		got, want,
	) {
		t.Errorf("fields %v, want %v", got, want)
	}
	e, err := newer.Create(t.Context(), newerEvent(ns), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	e.Note = "another"
	_, err = newer.Update(t.Context(), e, metav1.UpdateOptions{})
	if got := causes(t, err); !slices.Equal(got, []string{"note"}) {
		t.Errorf("another note: fields %v", got)
	}
	core, err := client.CoreV1().Events(ns).Get(t.Context(), "e", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	core.Message = "another"
	if _, err := client.CoreV1().Events(ns).Update(t.Context(), core, metav1.UpdateOptions{}); err != nil {
		t.Errorf("another message in core/v1: %v", err)
	}
}
