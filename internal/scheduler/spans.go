package scheduler

import (
	"cmp"
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/allot-dev/allot/internal/commit"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
)

// spans makes the traces of units: one for each, from its creation to the bind of its last pod, with
// a span for each attempt to place it and for each write of a plan. The requests of a write belong
// to its span.
type spans struct {
	tracer trace.Tracer
	open   map[model.UnitKey]trace.Span // of units that have pods to place
}

func newSpans(provider trace.TracerProvider) *spans {
	if provider == nil {
		provider = noop.NewTracerProvider()
	}
	return &spans{
		tracer: provider.Tracer("github.com/allot-dev/allot/internal/scheduler"), open: map[model.UnitKey]trace.Span{},
	}
}

// context returns a context with the span of a unit, if there is one.
func (s *spans) context(ctx context.Context, key model.UnitKey) context.Context {
	if span, ok := s.open[key]; ok {
		return trace.ContextWithSpan(ctx, span)
	}
	return ctx
}

// begin starts the span of a unit if there is none. The first one begins when the unit was created;
// one for pods that are placed later, with the first attempt.
func (s *spans) begin(unit *model.Unit, attempt time.Time) {
	if _, ok := s.open[unit.Key]; ok {
		return
	}
	start := attempt
	if unit.Group == nil || !unit.Group.Scheduled {
		start = unit.Created
	}
	_, s.open[unit.Key] = s.tracer.Start(context.Background(), //nolint:spancheck // end ends it
		"Schedule "+unit.Key.Resource(), trace.WithNewRoot(), trace.WithTimestamp(start),
		trace.WithAttributes(attribute.String("allot.unit", unit.Key.String())))
}

// tried records an attempt that began at some time and ends now.
func (s *spans) tried(unit *model.Unit, result string, begun, now time.Time, steps int, reasons *sched.Reasons) {
	s.begin(unit, begun)
	_, span := s.tracer.Start(s.context(context.Background(), unit.Key), "Place", trace.WithTimestamp(begun))
	if span.IsRecording() {
		span.SetAttributes(attribute.String("allot.result", result), attribute.Int("allot.pods", len(unit.Pods)),
			attribute.Int("allot.steps", steps))
		if reasons != nil {
			span.SetAttributes(attribute.String("allot.reason", cmp.Or(reasons.Cause(), result)))
		}
	}
	span.End(trace.WithTimestamp(now))
}

// end ends the span of a unit, if there is one.
func (s *spans) end(key model.UnitKey, now time.Time) {
	if span, ok := s.open[key]; ok {
		span.End(trace.WithTimestamp(now))
		delete(s.open, key)
	}
}

// endAll ends the spans of all units: the scheduler stops.
func (s *spans) endAll(now time.Time) {
	for key := range s.open {
		s.end(key, now)
	}
}

// write calls a function that writes a plan, with a span. The function binds some pods.
func (s *spans) write(ctx context.Context, pods int, write func(context.Context) commit.Result) commit.Result {
	ctx, span := s.tracer.Start(ctx, "Write plan", trace.WithAttributes(attribute.Int("allot.pods", pods)))
	defer span.End()
	result := write(ctx)
	if result.Refused != nil {
		span.RecordError(result.Refused)
	}
	for _, err := range result.Failed {
		span.RecordError(err)
	}
	return result
}
