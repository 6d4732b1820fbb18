package apiserver_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	tracesv1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/allot-dev/allot/internal/apiserver"
)

// collector receives traces as a collector of OpenTelemetry does.
type collector struct {
	tracesv1.UnimplementedTraceServiceServer

	spans chan string // their names
}

func (c *collector) Export(_ context.Context, request *tracesv1.ExportTraceServiceRequest) (
	*tracesv1.ExportTraceServiceResponse, error,
) {
	for _, resource := range request.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				c.spans <- span.GetName()
			}
		}
	}
	return &tracesv1.ExportTraceServiceResponse{}, nil
}

// newCollector returns a running collector, and its address.
func newCollector(t *testing.T) (c *collector, address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c = &collector{spans: make(chan string, 100_000)}
	server := grpc.NewServer()
	tracesv1.RegisterTraceServiceServer(server, c)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return c, listener.Addr().String()
}

// Traces of requests reach the collector that the file names, the last ones when the server stops.
func TestRequestsAreTraced(t *testing.T) {
	c, address := newCollector(t)
	file := filepath.Join(t.TempDir(), "tracing.yaml")
	config := "apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\nendpoint: " + address +
		"\nsamplingRatePerMillion: 1000000\n"
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := apiserver.Start(t.Context(), apiserver.Config{
		DataDir: t.TempDir(), UnsafeNoFsync: true, TracingFile: file,
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = clientset(t, s.Loopback()).CoreV1().ConfigMaps("default").Create(t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "traced"}}, metav1.CreateOptions{})
	stopServer(t, s)
	if err != nil {
		t.Fatal(err)
	}
	close(c.spans)
	var seen []string
	for span := range c.spans {
		if span == "POST /api/v1/namespaces/{:namespace}/configmaps" {
			return
		}
		seen = append(seen, span)
	}
	t.Errorf("no span of the request among %d: %s", len(seen), strings.Join(seen[:min(len(seen), 20)], ", "))
}

func TestWrongTracingFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tracing.yaml")
	for _, test := range []struct{ text, want string }{
		{"", "does not exist"},
		{"kind: Pod", "unable to decode tracing configuration data"},
		{
			"apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\nsamplingRatePerMillion: -1\n",
			"samplingRatePerMillion: Invalid value",
		},
	} {
		if test.text != "" {
			if err := os.WriteFile(file, []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s, err := apiserver.Start(t.Context(), apiserver.Config{
			DataDir: t.TempDir(), UnsafeNoFsync: true, TracingFile: file,
		})
		if err == nil {
			stopServer(t, s)
		}
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v, want %q", test.text, err, test.want)
		}
	}
}
