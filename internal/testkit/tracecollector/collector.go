// Package tracecollector is a collector of OpenTelemetry for tests.
package tracecollector

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	collectorv1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracesv1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
)

// Collector keeps all spans that are sent to it.
type Collector struct {
	collectorv1.UnimplementedTraceServiceServer

	// File is the name of a TracingConfiguration that has all spans sent to the collector.
	File string

	mu    sync.Mutex
	spans []*tracesv1.Span
}

// Start returns a collector that runs until the test ends.
func Start(t *testing.T) *Collector {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &Collector{File: filepath.Join(t.TempDir(), "tracing.yaml")}
	config := "apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\nendpoint: " +
		listener.Addr().String() + "\nsamplingRatePerMillion: 1000000\n"
	if err := os.WriteFile(c.File, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	collectorv1.RegisterTraceServiceServer(server, c)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return c
}

// Export is called by exporters.
func (c *Collector) Export(_ context.Context, request *collectorv1.ExportTraceServiceRequest) (
	*collectorv1.ExportTraceServiceResponse, error,
) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range request.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			c.spans = append(c.spans, scope.GetSpans()...)
		}
	}
	return &collectorv1.ExportTraceServiceResponse{}, nil
}

// Spans returns the spans that have been sent.
func (c *Collector) Spans() []*tracesv1.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clip(c.spans)
}
