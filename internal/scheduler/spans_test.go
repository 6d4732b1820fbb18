package scheduler

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// A gang has one trace, from its creation to the write of its binds; so has a gang that is deleted
// before it can be placed.
func TestUnitsAreTraced(t *testing.T) {
	recorder := tracetest.NewSpanRecorder()
	s := newServer(t)
	x := start(t, s)
	x.s.spans.tracer = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder)).Tracer("test")
	x.addTwoGangs(s)
	for i := range 3 {
		s.deletePod(fmt.Sprintf("large-%d", i))
	}
	x.idle()
	var got []string
	for _, span := range recorder.Ended() {
		root := "root"
		if parent := span.Parent(); parent.IsValid() {
			root = ""
			for _, other := range recorder.Ended() {
				if other.SpanContext().Equal(parent) {
					root = "in " + nameOf(other)
				}
			}
		}
		got = append(got, nameOf(span)+attributeOf(span, "allot.result")+
			attributeOf(span, "allot.reason")+attributeOf(span, "allot.pods")+" "+root)
	}
	slices.Sort(got)
	want := []string{
		"Place placed 2 in Schedule podgroup: podgroup ns/fits",
		"Place unschedulable Devices 3 in Schedule podgroup: podgroup ns/large",
		"Schedule podgroup: podgroup ns/fits root",
		"Schedule podgroup: podgroup ns/large root",
		"Write plan 2 in Schedule podgroup: podgroup ns/fits",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
}

// nameOf returns the name of a span, and that of its unit.
func nameOf(span sdktrace.ReadOnlySpan) string {
	if unit := attributeOf(span, "allot.unit"); unit != "" {
		return span.Name() + ":" + unit
	}
	return span.Name()
}

// attributeOf returns an attribute of a span after a blank, or "".
func attributeOf(span sdktrace.ReadOnlySpan, key string) string {
	for _, a := range span.Attributes() {
		if string(a.Key) == key {
			return " " + a.Value.String()
		}
	}
	return ""
}
